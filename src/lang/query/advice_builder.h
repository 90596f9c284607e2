// Makes the steps of every advice from a join tree and the decisions of a plan.
#pragma once

#include "base/result.h"
#include "lang/query/advice_plan.h"
#include "lang/query/compile.h"
#include "lang/query/join_tree.h"

namespace wf::query {

// A term that reads only what `node` observes, in terms of those variables.
advice::Expression LowerOwn(const Block& block, uint32_t node, TermId term);

Result<Compiled> BuildAdvice(const Query& query, const Block& block, const BlockPlan& plan);

}  // namespace wf::query
