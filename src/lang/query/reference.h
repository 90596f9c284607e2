// The reference semantics: a slow, obviously correct evaluator over a complete execution.
#pragma once

#include <vector>

#include "advice/expression.h"
#include "lang/query/ast.h"
#include "lang/query/execution.h"

namespace wf::query {

// Rows in the order of the answer: column by column ascending.
std::vector<advice::Tuple> EvaluateReference(const Query& query, const Execution& execution);

}  // namespace wf::query
