// The reference semantics: a slow, obviously correct evaluator over a complete execution.
#pragma once

#include <functional>
#include <vector>

#include "advice/expression.h"
#include "lang/query/ast.h"
#include "lang/query/execution.h"
#include "lang/query/row_builder.h"

namespace wf::query {

// Rows in the order of the answer: column by column ascending.
std::vector<advice::Tuple> EvaluateReference(const Query& query, const Execution& execution);

// Evaluates one request at a time: adds the tuples of the From events that `keeps_from` accepts to `rows` (of the
// same query). Events of different requests never join, so requests are otherwise independent.
void EvaluateRequest(const Query& query, const Execution& request,
                     const std::function<bool(const Event&)>& keeps_from, RowBuilder& rows);

}  // namespace wf::query
