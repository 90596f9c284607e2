// TraceCache: the events of traces that are still arriving, by trace id (Canopy §4.2 "Routing Events"), and
// the timeouts of their triggers. Batches are shared with the store, never copied: a trace holds (batch, row)
// pairs, and a batch is released with its last row. Traces leave by age (expiry after the last event) or,
// when the byte budget is used up, least recently used first; from then on only their id is remembered, and
// their events are "gone".
//
// A trace is served from the cache only when the cache certainly has all of it: its id was not seen before,
// and it began after the cache did. All others count as "gone" too: the store has more of them.
//
// Thread safety: all calls, from any thread; one mutex, nothing slow under it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "model/event_batch.h"
#include "pipeline/progress_ledger.h"
#include "pipeline/recent_ids.h"
#include "pipeline/trigger.h"

namespace wf::pipeline {

struct TraceKey {
  std::string tenant;
  TraceId id;
  bool operator==(const TraceKey&) const = default;
  bool operator<(const TraceKey& o) const {
    return tenant != o.tenant ? tenant < o.tenant : id < o.id;
  }
};

struct CacheOptions {
  std::vector<Trigger> triggers = DefaultTriggers();
  Nanos expiry = 2 * kMinute;  // after a trace's last event
  Nanos remember = 5 * kHour;  // for ids of traces that left
  size_t bytes = 256u << 20;   // of the batches held, and of the data kept about each trace
  size_t id_bytes = 16u << 20;
  int64_t max_events_per_trace = 1'000'000;
  // For this long after its start, the cache treats a trace as complete only if it has the root: other
  // tailers may have processed earlier events. 0: if it has an event that began after the cache did.
  Nanos rooted_for = 0;
};

// Whether all earlier events of a batch's traces came through this cache.
enum class TracePast : uint8_t { kPassedHere, kUnknown };

// Rows of one trace, in the batches they arrived in. The batches live as long as this.
struct CachedTrace {
  std::vector<std::pair<std::shared_ptr<const EventBatch>, uint32_t>> rows;
  ProgressLedger::Hold hold;
  bool processed_before = false;
  Nanos first_seen = 0, last_seen = 0;
};

// A trace whose timeout is over.
struct DueTrace {
  TraceKey key;
  Nanos due = 0;  // by the cache's clock
  ProgressLedger::Hold hold;
  bool gone = false;  // its events are not here: no Take needed
};

struct CacheCounts {
  int64_t events = 0;           // added
  int64_t events_uncached = 0;  // of traces that were gone already
  int64_t scheduled = 0, due = 0, rescheduled_late = 0;
  int64_t evicted = 0, expired = 0;  // traces
  int64_t before_start = 0;          // due traces that may have events from before the cache began
  int64_t ids_forgotten_early = 0;
  size_t traces = 0, bytes = 0, waiting = 0;
};

class TraceCache {
 public:
  // `now` of every call is one clock that never runs backwards. `remembers_since` is wall time: traces that
  // began before it may have sent events that this cache never saw.
  TraceCache(CacheOptions options, Nanos remembers_since);

  // Fetch and trigger: adds a durable batch, and starts the timeouts that its events trigger. Returns traces
  // that last too long or have too many events: no more of them is to be stored.
  struct Refusal {
    TraceKey key;
    enum class Reason : uint8_t { kEvents, kAge } reason;
  };
  std::vector<Refusal> Add(const std::shared_ptr<const EventBatch>& batch,
                           const ProgressLedger::Hold& hold, Nanos now,
                           TracePast past = TracePast::kPassedHere);

  // Traces whose timeout is over, earliest first, at most `limit`. Each stays cached until it expires.
  std::vector<DueTrace> TakeDue(Nanos now, size_t limit);
  // When the next timeout may be over; empty when none is running.
  std::optional<Nanos> NextDue() const;
  // Returns the events of a due trace and marks it as in progress; empty when they are gone.
  std::optional<CachedTrace> Take(const TraceKey& key);
  // The events of this due trace will not be fetched: drops them and counts the trace as processed by other
  // means.
  void LetGo(const TraceKey& key);
  // Makes the trace due again later, because another thread is working on it.
  void Postpone(const DueTrace& due, Nanos until);
  // The trace is processed by other means: cancels its timeouts.
  void Cancel(const TraceKey& key);
  // The trace gets rows by other means, which must be replaced from now on; its timeouts keep running.
  void NoteProcessed(const TraceKey& key, Nanos now);

  void Expire(Nanos now);
  // Events were missed: no trace here is certainly complete any more, nor one that began before `wall_now`.
  void ForgetAll(Nanos now, Nanos wall_now);

  CacheCounts Counts() const;

 private:
  struct RowRef {
    uint32_t batch, row;
  };
  struct BatchSlot {
    std::shared_ptr<const EventBatch> batch;
    size_t bytes = 0;
    uint32_t refs = 0;  // rows that traces hold
  };
  struct Entry {
    uint32_t tenant = 0;
    TraceId id;
    uint32_t older = kNobody, newer = kNobody;  // by last event
    std::vector<RowRef> rows;
    std::array<Nanos, kMaxTriggers> first_match{}, last_match{};
    uint32_t matched = 0;    // triggers that ever matched
    uint32_t scheduled = 0;  // triggers whose timeout runs
    int64_t events = 0;
    Nanos first = 0, last = 0;  // by the cache's clock
    Nanos begins = INT64_MAX;   // the earliest event, by the senders' clocks
    ProgressLedger::Hold hold;  // of the oldest event not yet processed
    bool gone = false;          // some of its events are not here
    bool processed = false;
    bool refused = false;
    bool rooted = false;  // has an event without parent
  };
  struct Timer {
    uint32_t tenant;
    TraceId id;
    uint8_t trigger;
  };
  // The timers of one fiftieth of a second, and holds on their oldest events, because their traces may leave
  // the cache earlier.
  struct Slot {
    std::vector<Timer> timers;
    std::vector<ProgressLedger::Hold> holds;
  };
  // What is still known of a trace that has left the cache and is close to the limit.
  struct LongTrace {
    int64_t events;
    Nanos first, last;
    uint32_t matched;
  };
  struct IdHash {
    size_t operator()(const std::pair<uint32_t, TraceId>& k) const {
      return MixBits(k.second.lo ^ MixBits(k.second.hi ^ k.first));
    }
  };
  using Id = std::pair<uint32_t, TraceId>;

  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr Nanos kTick = 20 * kMilli;
  // Memory of an entry besides its rows: itself, its place in the map, its timer.
  static constexpr size_t kEntryBytes = sizeof(Entry) + 64 + sizeof(Timer);

  uint32_t TenantNumber(const std::string& tenant);
  uint32_t FindOrAdd(uint32_t tenant, TraceId id, Nanos now);
  uint32_t HoldBatch(const std::shared_ptr<const EventBatch>& batch);
  void Schedule(Entry& entry, uint32_t bits, Nanos now);
  void StartTimer(const Timer& timer, Nanos at, const ProgressLedger::Hold& hold);
  bool TooLong(const Entry& entry, Nanos now) const;
  void DropRows(Entry& entry);
  void Remove(uint32_t index, Nanos now);
  void Unlink(uint32_t index);
  void LinkNewest(uint32_t index);
  void Shrink(Nanos now);

  const CacheOptions options_;
  mutable std::mutex mutex_;
  Nanos remembers_since_;
  Nanos began_ = INT64_MAX;  // by the cache's clock: the first event
  std::vector<std::string> tenants_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_entries_;
  std::unordered_map<Id, uint32_t, IdHash> by_id_;
  std::unordered_map<Id, LongTrace, IdHash> long_traces_;
  std::vector<BatchSlot> batches_;
  std::vector<uint32_t> free_batches_;
  std::map<Nanos, Slot> timers_;
  RecentIds recent_;
  uint32_t oldest_ = kNobody, newest_ = kNobody;
  size_t bytes_ = 0, waiting_ = 0;
  CacheCounts counts_;
};

}  // namespace wf::pipeline
