// Blame: for every instant between two events, the event that made the request wait (Zeno §4.3 to §4.5,
// figure 6, definition A.5). See docs/concepts/temporal-provenance.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf::provenance {

// In the walks of the instants in (begin_ns, end_ns], a step from one event to the one that made it wait.
struct BlameStep {
  uint32_t by = 0, of = 0;  // cause or occupant, effect or waiter
  ExplanationEdgeKind kind = ExplanationEdgeKind::kCausal;
  uint32_t next = UINT32_MAX;  // another step to the same event, while steps are collected
  Nanos begin_ns = 0, end_ns = 0;
};

// Instants by event, up to `to`. Those of e are intervals[begin[e], end[e]), ascending, with touching ones
// joined.
struct EventIntervals {
  std::vector<Interval> intervals;
  std::vector<uint32_t> begin, end;
};

struct Blame {
  EventIntervals passed;  // instants whose walk passes the event
  EventIntervals ended;   // instants whose walk ends there
  std::vector<Nanos> delay_ns, self_ns;
  std::vector<BlameStep> steps;
};

// For the instants in (start of `from`, end of `to`].
Blame FindBlame(const Execution& execution, uint32_t from, uint32_t to);

// Sorts the intervals and joins those that touch or overlap; returns the total.
Nanos JoinIntervals(std::vector<Interval>& intervals);

}  // namespace wf::provenance
