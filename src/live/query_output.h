// The output of a live query as JSON: rows of an interval, the total at the end.
#pragma once

#include <string>
#include <vector>

#include "advice/expression.h"
#include "live/live_query.h"
#include "live/query_intervals.h"

namespace wf::live {

// {"start_ns","end_ns","columns","rows","lost"}
std::string IntervalJson(const std::vector<std::string>& columns, const ClosedInterval& interval);
// {"columns","rows","cost","input"}: as `wherefore query --events` prints it.
std::string TotalJson(const std::vector<std::string>& columns, std::vector<advice::Tuple> rows,
                      const LiveQueryCost& cost);

}  // namespace wf::live
