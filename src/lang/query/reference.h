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

// One request after another: adds the tuples of one, whose From events are kept, to `rows` (of the same query).
// Events of different requests never join, so nothing else reaches across them.
void EvaluateRequest(const Query& query, const Execution& request,
                     const std::function<bool(const Event&)>& keeps_from, RowBuilder& rows);

}  // namespace wf::query
