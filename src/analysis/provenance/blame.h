// Blame: for every instant between two events, who was to blame (Zeno §4.3 to §4.5, figure 6, definition A.5). See
// docs/concepts/temporal-provenance.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf::provenance {

// The walks of the instants in (begin_ns, end_ns] go from one event to the one that made it wait.
struct BlameStep {
  uint32_t by = 0, of = 0;  // cause or occupant, effect or waiter
  ExplanationEdgeKind kind = ExplanationEdgeKind::kCausal;
  uint32_t next = UINT32_MAX;  // another step to the same event, while they are gathered
  Nanos begin_ns = 0, end_ns = 0;
};

// Instants by event, up to `to`; of e: intervals[begin[e], end[e]), ascending, touching ones joined.
struct EventIntervals {
  std::vector<Interval> intervals;
  std::vector<uint32_t> begin, end;
};

struct Blame {
  EventIntervals passed;  // whose walk passes the event
  EventIntervals ended;   // whose walk ends there
  std::vector<Nanos> delay_ns, self_ns;
  std::vector<BlameStep> steps;
};

// Over (start of `from`, end of `to`].
Blame FindBlame(const Execution& execution, uint32_t from, uint32_t to);

// Sorts, joins what touches or overlaps; returns the total.
Nanos JoinIntervals(std::vector<Interval>& intervals);

}  // namespace wf::provenance
