// Keys and aggregates of a query with groups.
#pragma once

#include <vector>

#include "lang/query/ast.h"

namespace wf::query {

// `query` is resolved and has GroupBy's keys, or none and an aggregate in Select. Finds the keys, moves the
// aggregates out of Select, and reports what is neither.
void GroupSelect(Query& query, std::vector<lang::Diagnostic>& diagnostics);

// Equal after parsing: brackets, case of functions and white space do not count.
bool SameExpr(const Expr& a, const Expr& b);

}  // namespace wf::query
