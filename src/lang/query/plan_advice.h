// Runs a compiled query over a complete execution as live processes would: advice at every event, tuples in the baggage
// that travels along the edges.
#pragma once

#include <vector>

#include "advice/program.h"
#include "lang/query/execution.h"
#include "lang/query/rows_json.h"

namespace wf::query {

struct PlanRun {
  std::vector<advice::Tuple> rows;  // in the order of answers
  Cost cost;
};

PlanRun RunAdvicePlan(const advice::Program& program, const Execution& execution);

}  // namespace wf::query
