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

// The same for whoever puts the tuples somewhere himself: `emit` gets those of each event that has any, in the order of
// Execution::order. An event of more than advice::kMaxTuplesPerEvent has none, as in a live process.
using EmitAt = std::function<void(uint32_t event, const advice::Rows& rows)>;
struct AdviceRunAt {
  std::vector<uint32_t> overflowed;  // events of too many tuples
  // The work that was allowed did not suffice: of this event and those behind it in Execution::order nothing was
  // emitted. Its place there; the number of events if it did.
  size_t ended_at = 0;
};
// `most_work`: tuples unpacked, packed and merged, and instances of baggage handed on.
AdviceRunAt RunAdviceAt(const advice::Program& program, const Execution& execution,
                        size_t most_work, const EmitAt& emit);

}  // namespace wf::query
