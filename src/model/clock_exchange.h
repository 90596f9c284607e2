// The messages between hosts that the events of traces show: the min delay per pair of hosts and window, from
// which clocks are solved (clock.h). Stores call CollectExchanges while they write, so it is cheap: a trace
// whose events come from one host, or from hosts without a name, costs one pass over its rows.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/clock.h"
#include "model/event_batch.h"

namespace wf {

// Thread safety: none.
class ExchangeTable {
 public:
  uint32_t Host(std::string_view name) { return hosts_.Intern(name); }  // 0 for the empty name
  // A response counts in the window of its request, which is given by `asked`, the caller's time. Otherwise a
  // call between clocks that differ, or one across a border, would give each of two windows half of what
  // bounds their offset.
  void Add(uint32_t from_host, Nanos sent, uint32_t to_host, Nanos received, Nanos asked);
  // Sorted by (window, from, to).
  std::vector<ClockExchange> Exchanges() const;
  bool empty() const { return least_.empty(); }

 private:
  struct Key {
    uint32_t from, to;
    int64_t window;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return MixBits((static_cast<uint64_t>(key.from) << 32 | key.to) ^
                     MixBits(static_cast<uint64_t>(key.window)));
    }
  };
  struct Least {
    Nanos delay;
    int64_t count;
  };
  StringTable hosts_;
  std::unordered_map<Key, Least, KeyHash> least_;
};

// Which messages a parent and its child on another host prove: the request at their begins, the response at their
// ends. The one place of these rules; `async` is the child's wherefore.async.
struct SpanFacts {
  SpanKind kind;
  SpanStatus status;
  ParentRef parent_ref;
  uint8_t marks;
  bool async;
  Nanos start_ns, end_ns;
};
struct ExchangeEvidence {
  bool request = false, response = false;
};
ExchangeEvidence EvidenceOf(const SpanFacts& parent, const SpanFacts& child);

// `rows` of the batch, all rows of a trace side by side.
void CollectExchanges(const EventBatch& batch, const std::vector<uint32_t>& rows,
                      ExchangeTable& table);

}  // namespace wf
