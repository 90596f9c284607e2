// The walk of one instant t, from v = `to`:
//   1. t > start(v): v is to blame.
//   2. A cause ends at or after t: on to the one of them that ends first.
//   3. t > ready(v), and the resource v takes next has no server free at t: on to the holder, at t, of the server that v
//      will take.
//   4. Else v: transit, a timer, an idle gap, an input not there yet.
//
// This is figure 6 turned around: instead of one instant at a time, an event passes on whole intervals. A
// walk always continues at an earlier event, so the events are processed backwards, and each has all its
// instants when its turn comes. Every instant has one walk, which passes an event at most once, so the
// intervals that an event receives do not overlap. Intervals are open below and closed above, as the instants
// of an event are.
//
// Attribution is flat: a waiter passes each instant directly to the occupant at that time, not along the
// queue. So n events in a queue cost n steps, not n². §4.5's prose, and line 18 of figure 6 for INS, DEL and
// RCV, would pass on more; they break lemma 11 or theorem 13 and are not followed.
#include "analysis/provenance/blame.h"

#include <algorithm>

namespace wf::provenance {

Nanos JoinIntervals(std::vector<Interval>& intervals) {
  if (!std::is_sorted(intervals.begin(), intervals.end()))
    std::sort(intervals.begin(), intervals.end());
  size_t kept = 0;
  Nanos total = 0;
  for (const Interval& one : intervals) {
    if (kept > 0 && one.first <= intervals[kept - 1].second) {
      if (one.second <= intervals[kept - 1].second) continue;
      total += one.second - intervals[kept - 1].second;
      intervals[kept - 1].second = one.second;
    } else {
      total += one.second - one.first;
      intervals[kept++] = one;
    }
  }
  intervals.resize(kept);
  return total;
}

namespace {

class Walks {
 public:
  Walks(const Execution& execution, uint32_t from, uint32_t to)
      : x_(execution), to_(to), head_(to + 1, UINT32_MAX), full_(execution.resource_name.size()) {
    for (EventIntervals* set : {&blame_.passed, &blame_.ended}) {
      set->begin.assign(to + 1, 0);
      set->end.assign(to + 1, 0);
    }
    blame_.delay_ns.assign(to + 1, 0);
    blame_.self_ns.assign(to + 1, 0);
    if (x_.start_ns[from] < x_.end_ns[to]) instants_.emplace_back(x_.start_ns[from], x_.end_ns[to]);
  }

  Blame Run() {
    for (uint32_t v = to_ + 1; v-- > 0;) {
      for (uint32_t s = head_[v]; s != UINT32_MAX; s = blame_.steps[s].next)
        instants_.emplace_back(blame_.steps[s].begin_ns, blame_.steps[s].end_ns);
      if (!instants_.empty()) Visit(v);
    }
    return std::move(blame_);
  }

 private:
  static Nanos Keep(uint32_t v, std::vector<Interval>& from, EventIntervals& to) {
    const Nanos total = JoinIntervals(from);
    to.begin[v] = static_cast<uint32_t>(to.intervals.size());
    to.intervals.insert(to.intervals.end(), from.begin(), from.end());
    to.end[v] = static_cast<uint32_t>(to.intervals.size());
    from.clear();
    return total;
  }

  void Visit(uint32_t v) {
    v_ = v;
    blame_.delay_ns[v] = Keep(v, instants_, blame_.passed);
    SortCausesAndHolds();
    for (uint32_t i = blame_.passed.begin[v]; i < blame_.passed.end[v]; ++i) {
      auto [begin, end] = blame_.passed.intervals[i];
      const Nanos start = x_.start_ns[v];
      if (end > start) Self(std::max(begin, start), end);
      end = std::min(end, start);
      begin = GiveToCauses(begin, end);
      if (begin < std::min(end, x_.ready_ns[v])) {
        Self(begin, std::min(end, x_.ready_ns[v]));
        begin = std::min(end, x_.ready_ns[v]);
      }
      if (begin < end) GiveToOccupants(begin, end);
    }
    blame_.self_ns[v] = Keep(v, self_, blame_.ended);
  }

  void SortCausesAndHolds() {
    causes_.assign(x_.causes.begin() + x_.causes_begin[v_],
                   x_.causes.begin() + x_.causes_begin[v_ + 1]);
    if (causes_.size() > 1) {
      std::sort(causes_.begin(), causes_.end(), [&](uint32_t a, uint32_t b) {
        return x_.end_ns[a] != x_.end_ns[b] ? x_.end_ns[a] < x_.end_ns[b] : a < b;
      });
    }
    holds_.clear();
    for (uint32_t h = x_.holds_begin[v_]; h < x_.holds_begin[v_ + 1]; ++h) holds_.push_back(h);
    if (holds_.size() > 1) {
      std::stable_sort(holds_.begin(), holds_.end(), [&](uint32_t a, uint32_t b) {
        return x_.holds[a].since_ns < x_.holds[b].since_ns;
      });
    }
  }

  // Returns where the instants begin that come after every cause.
  Nanos GiveToCauses(Nanos begin, Nanos end) {
    auto cause = std::upper_bound(causes_.begin(), causes_.end(), begin,
                                  [&](Nanos t, uint32_t c) { return t < x_.end_ns[c]; });
    for (; begin < end && cause != causes_.end(); ++cause) {
      const Nanos until = std::min(end, x_.end_ns[*cause]);
      if (begin >= until) continue;  // ends with the one before it
      Step(*cause, ExplanationEdgeKind::kCausal, begin, until);
      begin = until;
    }
    return begin;
  }

  // All of it is after ready.
  void GiveToOccupants(Nanos begin, Nanos end) {
    for (size_t i = 0; i < holds_.size() && begin < end;) {
      const Nanos since = x_.holds[holds_[i]].since_ns;
      size_t behind = i;
      while (behind < holds_.size() && x_.holds[holds_[behind]].since_ns == since) ++behind;
      if (begin < since) {
        open_.assign(1, {begin, std::min(end, since)});
        for (; i < behind && !open_.empty(); ++i) GiveToOccupantsOf(holds_[i]);
        for (const Interval& rest : open_) Self(rest.first, rest.second);
        begin = std::min(end, since);
      }
      i = behind;
    }
    if (begin < end) Self(begin, end);
  }

  // Leaves in open_ what this does not explain.
  void GiveToOccupantsOf(uint32_t hold) {
    left_.clear();
    for (const Interval& wait : open_) {
      if (x_.servers[x_.holds[hold].resource] == 1) {
        GiveAlongLane(hold, wait.first, wait.second);
        continue;
      }
      const std::vector<Interval>& full = FullTimes(x_.holds[hold].resource);
      Nanos begin = wait.first;
      auto at = std::upper_bound(full.begin(), full.end(), begin,
                                 [](Nanos t, const Interval& f) { return t < f.second; });
      for (; at != full.end() && at->first < wait.second && begin < wait.second; ++at) {
        if (begin < at->first) left_.emplace_back(begin, at->first);
        const Nanos from = std::max(begin, at->first);
        begin = std::min(wait.second, at->second);
        GiveAlongLane(hold, from, begin);
      }
      if (begin < wait.second) left_.emplace_back(begin, wait.second);
    }
    open_.swap(left_);
  }

  void GiveAlongLane(uint32_t hold, Nanos begin, Nanos end) {
    const uint32_t lane = x_.lane(x_.holds[hold]);
    const auto first = x_.occupants.begin() + x_.occupants_begin[lane];
    auto at = x_.occupants.begin() + x_.turn[hold];
    // The occupant at `end` is usually near; only if not, use binary search.
    for (int steps = 0; at != first && x_.holds[*(at - 1)].since_ns >= end; --at) {
      if (++steps == 16) {
        at = std::lower_bound(first, at, end,
                              [&](uint32_t h, Nanos t) { return x_.holds[h].since_ns < t; });
        break;
      }
    }
    while (begin < end) {
      if (at == first) {
        left_.emplace_back(begin, end);
        return;
      }
      const uint32_t occupant = *--at;
      const Nanos since = x_.holds[occupant].since_ns, until = x_.end_ns[x_.holder[occupant]];
      if (until <= begin) {
        left_.emplace_back(begin, end);
        return;
      }
      if (until < end) {
        left_.emplace_back(until, end);
        end = until;
      }
      if (since >= end) continue;  // takes no time
      Step(x_.holder[occupant], ExplanationEdgeKind::kSequencing, std::max(begin, since), end);
      end = std::max(begin, since);
    }
  }

  // When no server of it was free.
  const std::vector<Interval>& FullTimes(uint32_t resource) {
    Full& full = full_[resource];
    if (full.known) return full.times;
    full.known = true;
    const uint32_t first = x_.occupants_begin[x_.lanes_begin[resource]];
    const uint32_t last = x_.occupants_begin[x_.lanes_begin[resource + 1]];
    std::vector<Nanos> taken, freed;
    for (uint32_t i = first; i < last; ++i) {
      const uint32_t hold = x_.occupants[i];
      if (x_.holds[hold].since_ns == x_.end_ns[x_.holder[hold]]) continue;
      taken.push_back(x_.holds[hold].since_ns);
      freed.push_back(x_.end_ns[x_.holder[hold]]);
    }
    std::sort(taken.begin(), taken.end());
    std::sort(freed.begin(), freed.end());
    size_t gone = 0;
    for (size_t come = 0; come < taken.size(); ++come) {
      while (freed[gone] <= taken[come]) ++gone;
      if (come + 1 - gone == x_.servers[resource])
        full.times.emplace_back(taken[come], freed[gone]);  // until the next one leaves
    }
    JoinIntervals(full.times);
    return full.times;
  }

  void Self(Nanos begin, Nanos end) { self_.emplace_back(begin, end); }

  void Step(uint32_t by, ExplanationEdgeKind kind, Nanos begin, Nanos end) {
    blame_.steps.push_back({by, v_, kind, head_[by], begin, end});
    head_[by] = static_cast<uint32_t>(blame_.steps.size() - 1);
  }

  struct Full {
    bool known = false;
    std::vector<Interval> times;
  };

  const Execution& x_;
  const uint32_t to_;
  Blame blame_;
  std::vector<uint32_t> head_;  // by event: its last step
  std::vector<Full> full_;      // by resource
  uint32_t v_ = 0;              // the current event, and its data:
  std::vector<Interval> instants_, self_, open_, left_;
  std::vector<uint32_t> causes_, holds_;
};

}  // namespace

Blame FindBlame(const Execution& execution, uint32_t from, uint32_t to) {
  return Walks(execution, from, to).Run();
}

}  // namespace wf::provenance
