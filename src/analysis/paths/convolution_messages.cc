#include "analysis/paths/convolution_messages.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/hash.h"

namespace wf::paths {
namespace {

// A message sighted again by another observer comes within what clocks and mirror ports are apart. Later than this it
// is another message: ids of one-way messages have no return that would end them.
constexpr Nanos kSameMessage = 10 * kSecond;

enum class Repeat { kNo, kRetransmission, kDuplicate };

struct Key {
  uint64_t id;
  NodeId sender, receiver;
  MessageKind kind;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  size_t operator()(const Key& key) const {
    const uint64_t ends = static_cast<uint64_t>(key.sender) << 32 | key.receiver;
    return MixBits(MixBits(key.id + static_cast<uint64_t>(key.kind)) ^ ends);
  }
};

class Collector {
 public:
  PathMessages Collect(std::span<const Sighting> sightings) {
    out_.messages.reserve(sightings.size());
    for (const Sighting& sighting : sightings) Add(sighting);
    std::stable_sort(
        out_.messages.begin(), out_.messages.end(),
        [](const PathMessage& a, const PathMessage& b) { return a.sent_ns < b.sent_ns; });
    return std::move(out_);
  }

 private:
  struct Last {  // the newest message of a key
    uint32_t message = 0;
    uint32_t input_of[3] = {0, 0, 0};  // by SightedBy: the input that showed it, 0: none
    Nanos time_ns = 0;
    bool returned = false;  // a call whose return was sighted: the id may be used again
  };

  void Add(const Sighting& s) {
    if (s.id == 0) return AddUnnamed(s);
    const auto by = static_cast<size_t>(s.by);
    const auto [place, is_new] = last_.try_emplace(Key{s.id, s.sender, s.receiver, s.kind});
    Last& last = place->second;
    const bool completes = !is_new && Completes(last, s);
    if (!is_new && !completes) {
      switch (RepeatOf(last, s)) {
        case Repeat::kRetransmission:
          ++out_.retransmissions;
          return;
        case Repeat::kDuplicate:
          ++out_.duplicates;
          return;
        case Repeat::kNo:
          break;
      }
    }
    if (completes) {
      SetTime(out_.messages[last.message], s);
    } else {
      last = Last{};
      last.message = Append(s);
    }
    last.input_of[by] = s.place.input;
    last.time_ns = s.time_ns;
    if (s.kind == MessageKind::kReturn) {
      const auto call = last_.find(Key{s.id, s.receiver, s.sender, MessageKind::kCall});
      if (call != last_.end()) call->second.returned = true;
    }
  }

  // The other end's sighting of the same message.
  static bool Completes(const Last& last, const Sighting& s) {
    if (s.by == SightedBy::kCommon || last.input_of[0] != 0) return false;
    return last.input_of[static_cast<size_t>(s.by)] == 0;
  }

  static Repeat RepeatOf(const Last& last, const Sighting& s) {
    const uint32_t input = last.input_of[static_cast<size_t>(s.by)];
    const bool other_input = input != 0 && input != s.place.input;
    if (s.kind == MessageKind::kCall) {
      if (last.returned) return Repeat::kNo;
      return other_input ? Repeat::kDuplicate : Repeat::kRetransmission;
    }
    // A repeated return or one-way message in the same input counts as a new one: nothing shows otherwise.
    return other_input && s.time_ns - last.time_ns <= kSameMessage ? Repeat::kDuplicate
                                                                   : Repeat::kNo;
  }

  // Without ids the ends of a message are matched in order.
  void AddUnnamed(const Sighting& s) {
    if (s.by == SightedBy::kCommon) {
      Append(s);
      return;
    }
    std::deque<uint32_t>* const waiting = waiting_[Key{0, s.sender, s.receiver, s.kind}].by;
    std::deque<uint32_t>& mine = waiting[s.by == SightedBy::kSender ? 0 : 1];
    std::deque<uint32_t>& other = waiting[s.by == SightedBy::kSender ? 1 : 0];
    if (other.empty()) {
      mine.push_back(Append(s));
      return;
    }
    SetTime(out_.messages[other.front()], s);
    other.pop_front();
  }

  uint32_t Append(const Sighting& s) {
    out_.messages.push_back({s.time_ns, s.time_ns, s.sender, s.receiver, s.kind});
    return static_cast<uint32_t>(out_.messages.size() - 1);
  }
  static void SetTime(PathMessage& message, const Sighting& s) {
    (s.by == SightedBy::kSender ? message.sent_ns : message.received_ns) = s.time_ns;
  }

  struct Waiting {
    std::deque<uint32_t> by[2];
  };
  PathMessages out_;
  std::unordered_map<Key, Last, KeyHash> last_;
  std::unordered_map<Key, Waiting, KeyHash> waiting_;
};

}  // namespace

PathMessages CollectMessages(std::span<const Sighting> sightings) {
  return Collector().Collect(sightings);
}

}  // namespace wf::paths
