// Runs a compiled query over a complete execution as live processes would: advice at every event, tuples in the baggage
// that travels along the edges.
#pragma once

#include <functional>
#include <vector>

#include "advice/program.h"
#include "advice/rows.h"
#include "lang/query/execution.h"
#include "lang/query/rows_json.h"

namespace wf::query {

struct PlanRun {
  std::vector<advice::Tuple> rows;  // in the order of answers
  Cost cost;
};

PlanRun RunAdvicePlan(const advice::Program& program, const Execution& execution);

// The same for callers that store the tuples themselves: `emit` receives those of each event that has any, in
// the order of Execution::order. An event of more than advice::kMaxTuplesPerEvent has none, as in a live
// process.
using EmitAt = std::function<void(uint32_t event, const advice::Rows& rows)>;
struct AdviceRunAt {
  std::vector<uint32_t> overflowed;  // events with too many tuples
  // If the allowed work did not suffice: the position in Execution::order of the first event from which on
  // nothing was emitted. Otherwise the number of events.
  size_t ended_at = 0;
};
// `most_work`: limit for tuples unpacked, packed and merged, and instances of baggage passed on.
AdviceRunAt RunAdviceAt(const advice::Program& program, const Execution& execution,
                        size_t most_work, const EmitAt& emit);

}  // namespace wf::query
