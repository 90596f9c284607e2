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

// The same for whoever puts the tuples somewhere himself: `emit` gets those of each event that has any. An event of more
// than advice::kMaxTuplesPerEvent has none, as in a live process; returns those.
using EmitAt = std::function<void(uint32_t event, const advice::Rows& rows)>;
std::vector<uint32_t> RunAdviceAt(const advice::Program& program, const Execution& execution,
                                  const EmitAt& emit);

}  // namespace wf::query
