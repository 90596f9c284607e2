// One sweep from `to` backwards in the order of time. Causes and predecessors precede, so when an event's turn comes
// all that could bring it in has been seen.
//
// The predecessors of v on a server are a stretch of the occupants before it: those that ended after w.
// PREV-VERTEX would walk each stretch anew, and a queue of n that came at once would cost n². But stretches
// end at v, and every v seen so far comes after the current event: it is enough to keep, for each server, how
// far back the farthest stretch reaches.
#include "analysis/provenance/raw_graph.h"

#include <algorithm>

namespace wf::provenance {
namespace {

class Sweep {
 public:
  Sweep(const Execution& execution, uint32_t to)
      : x_(execution), reach_(execution.occupants_begin.size(), UINT32_MAX) {
    graph_.in.assign(to + 1, 0);
    graph_.in[to] = 1;
  }

  RawGraph Run() {
    for (auto e = static_cast<uint32_t>(graph_.in.size()); e-- > 0;) {
      Reached(e);
      if (graph_.in[e] == 0) continue;
      ++graph_.vertices;
      for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i) {
        graph_.in[x_.causes[i]] = 1;
        if (x_.type[e] == ProvenanceType::kReceive) Sequence(x_.causes[i], e);
      }
      const bool waits = x_.ready_told[e] || x_.type[e] == ProvenanceType::kDerive ||
                         x_.type[e] == ProvenanceType::kUnderive ||
                         x_.type[e] == ProvenanceType::kSend;
      if (!waits) continue;
      const uint32_t holds = x_.holds_begin[e + 1] - x_.holds_begin[e];
      if (holds > 1) ListForManyHolds(e);
      for (uint32_t h = x_.holds_begin[e]; h < x_.holds_begin[e + 1]; ++h)
        Reach(e, h, holds > 1 ? Holds::kMany : Holds::kOne);
    }
    std::sort(graph_.sequencing.begin(), graph_.sequencing.end());
    graph_.sequencing.erase(std::unique(graph_.sequencing.begin(), graph_.sequencing.end()),
                            graph_.sequencing.end());
    return std::move(graph_);
  }

 private:
  // Whether e is in a stretch that ends after it. Then its server's next occupant is in that stretch too, or
  // ends it.
  void Reached(uint32_t e) {
    for (uint32_t h = x_.holds_begin[e]; h < x_.holds_begin[e + 1]; ++h) {
      if (x_.turn[h] < reach_[x_.lane(x_.holds[h])]) continue;
      graph_.in[e] = 1;
      Sequence(e, x_.holder[x_.occupants[x_.turn[h] + 1]]);
    }
  }

  enum class Holds : uint8_t { kOne, kMany };

  // A hold of an event that keeps thousands must not look at all the others, nor at all that the causes hold: both are
  // sorted once for all of them.
  void ListForManyHolds(uint32_t e) {
    since_.clear();
    for (uint32_t h = x_.holds_begin[e]; h < x_.holds_begin[e + 1]; ++h)
      since_.push_back(x_.holds[h].since_ns);
    std::sort(since_.begin(), since_.end());
    left_.clear();
    for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i) {
      const uint32_t cause = x_.causes[i];
      for (uint32_t h = x_.holds_begin[cause]; h < x_.holds_begin[cause + 1]; ++h)
        left_.push_back({x_.lane(x_.holds[h]), x_.turn[h], x_.end_ns[cause], cause});
    }
    std::sort(left_.begin(), left_.end(), Left::Before);
  }

  void Reach(uint32_t e, uint32_t h, Holds holds) {
    Nanos w = x_.ready_ns[e];
    if (holds == Holds::kMany) {
      const auto at = std::lower_bound(since_.begin(), since_.end(), x_.holds[h].since_ns);
      if (at != since_.begin()) w = std::max(w, *(at - 1));
    }
    const uint32_t lane = x_.lane(x_.holds[h]);
    const auto end_of = [&](uint32_t hold) { return x_.end_ns[x_.holder[hold]]; };
    // Ends do not decrease along a lane. Most stretches are short: look back step by step before halving.
    const uint32_t begin = x_.occupants_begin[lane];
    uint32_t first = x_.turn[h];
    for (int steps = 0; first > begin && end_of(x_.occupants[first - 1]) > w; --first) {
      if (++steps == 16) {
        const auto at = x_.occupants.begin();
        first = static_cast<uint32_t>(
            std::upper_bound(at + begin, at + first, w,
                             [&](Nanos time, uint32_t hold) { return time < end_of(hold); }) -
            at);
        break;
      }
    }
    if (first < x_.turn[h]) reach_[lane] = std::min(reach_[lane], first);
    const uint32_t cause =
        holds == Holds::kMany ? NearestOfListed(lane, w) : NearestCause(e, lane, w);
    if (cause != kNoEvent) Sequence(cause, x_.holder[x_.occupants[first]]);
  }

  // Of the causes that held the lane and ended at w, the last to do so. (Looking back along the lane instead would pass
  // all that took no time at w, for each of them.)
  uint32_t NearestCause(uint32_t e, uint32_t lane, Nanos w) const {
    uint32_t nearest = kNoEvent, turn = 0;
    for (uint32_t i = x_.causes_begin[e]; i < x_.causes_begin[e + 1]; ++i) {
      const uint32_t cause = x_.causes[i];
      if (x_.end_ns[cause] != w) continue;
      for (uint32_t h = x_.holds_begin[cause]; h < x_.holds_begin[cause + 1]; ++h) {
        if (x_.lane(x_.holds[h]) != lane || (nearest != kNoEvent && x_.turn[h] < turn)) continue;
        nearest = cause;
        turn = x_.turn[h];
      }
    }
    return nearest;
  }

  uint32_t NearestOfListed(uint32_t lane, Nanos w) const {
    // Along a lane, ends do not decrease with turns, so those that ended at w are adjacent.
    const auto at = std::upper_bound(left_.begin(), left_.end(), std::make_pair(lane, w),
                                     [](const std::pair<uint32_t, Nanos>& key, const Left& one) {
                                       return key < std::make_pair(one.lane, one.end);
                                     });
    if (at == left_.begin()) return kNoEvent;
    const Left& last = *(at - 1);
    return last.lane == lane && last.end == w ? last.event : kNoEvent;
  }

  // What a cause held, and when it left it.
  struct Left {
    uint32_t lane, turn;
    Nanos end;
    uint32_t event;
    static bool Before(const Left& a, const Left& b) {
      return a.lane != b.lane ? a.lane < b.lane : a.turn < b.turn;
    }
  };

  void Sequence(uint32_t before, uint32_t after) { graph_.sequencing.emplace_back(before, after); }

  const Execution& x_;
  std::vector<uint32_t> reach_;  // by lane: where the farthest stretch begins; none: UINT32_MAX
  std::vector<Nanos> since_;     // of the current event, if it holds several: sorted
  std::vector<Left> left_;       // likewise, by its causes
  RawGraph graph_;
};

}  // namespace

RawGraph BuildRawGraph(const Execution& execution, uint32_t to) {
  return Sweep(execution, to).Run();
}

void CloseUnderCauses(const Execution& x, std::vector<uint8_t>& in) {
  for (auto e = static_cast<uint32_t>(in.size()); e-- > 0;) {
    if (in[e] == 0) continue;
    for (uint32_t i = x.causes_begin[e]; i < x.causes_begin[e + 1]; ++i) in[x.causes[i]] = 1;
  }
}

std::vector<uint8_t> CausalAncestors(const Execution& execution, uint32_t to) {
  std::vector<uint8_t> in(to + 1, 0);
  in[to] = 1;
  CloseUnderCauses(execution, in);
  return in;
}

}  // namespace wf::provenance
