// A query → advice by the rewrite rules of Pivot Tracing table 3: projections, selections and aggregations stand as
// close to the source of their tuples as they may, so that the fewest tuples travel. The answer is the plain plan's.
#pragma once

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

Result<Compiled> Rewrite(const Query& query);

}  // namespace wf::query
