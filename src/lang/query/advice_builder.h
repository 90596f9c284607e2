// A join tree and the decisions of a plan → the steps of every advice.
#pragma once

#include "base/result.h"
#include "lang/query/advice_plan.h"
#include "lang/query/compile.h"
#include "lang/query/join_tree.h"

namespace wf::query {

Result<Compiled> BuildAdvice(const Query& query, const Block& block, const BlockPlan& plan);

}  // namespace wf::query
