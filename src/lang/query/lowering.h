// An expression of the query as advice: postfix over the columns of a tuple.
#pragma once

#include <functional>

#include "advice/expression.h"
#include "lang/query/ast.h"

namespace wf::query {

// `column` returns the index in the tuple of a kRead, kKey or kAggregate.
advice::Expression Lower(const Expr& expr, const std::function<uint32_t(const Expr&)>& column);

}  // namespace wf::query
