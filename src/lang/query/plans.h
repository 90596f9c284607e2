// The ways to answer a query over a complete execution. All give the same rows; they differ in what travels
// with the request.
#pragma once

#include <string_view>
#include <vector>

#include "advice/expression.h"
#include "base/result.h"
#include "lang/query/ast.h"
#include "lang/query/execution.h"
#include "lang/query/plan_advice.h"

namespace wf::query {

enum class Plan : uint8_t {
  kReference,  // reference.h
  kAdvice,     // advice as the query is written
  kRewritten,  // … rewritten so that as few tuples as possible travel
  kEmit,       // every tuple is emitted and joined afterwards; only a causal id travels
};

// "" is the default: rewritten.
Result<Plan> PlanByName(std::string_view name);

Result<PlanRun> RunPlan(Plan plan, const Query& query, const Execution& execution);

}  // namespace wf::query
