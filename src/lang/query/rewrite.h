// A query → advice by the rewrite rules of Pivot Tracing table 3: projections, selections and aggregations
// are moved as close to the source of their tuples as possible, so that as few tuples as possible travel. The
// answer is the same as that of the plain plan.
#pragma once

#include "base/result.h"
#include "lang/query/compile.h"

namespace wf::query {

Result<Compiled> Rewrite(const Query& query);

}  // namespace wf::query
