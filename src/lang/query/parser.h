// The text of a query → its syntax tree, resolved and checked.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "lang/query/ast.h"

namespace wf::query {

// Longer texts are rejected; so are expressions and sub-queries nested deeper than a person writes.
inline constexpr size_t kMaxQueryBytes = 1 << 16;

struct Parsed {
  std::shared_ptr<const Query> query;  // the last one; null if there are diagnostics
  std::vector<lang::Diagnostic> diagnostics;
};

Parsed Parse(std::string_view text);

// The same for callers that show one message: BadInput with every diagnostic, its line of the text and a
// caret.
Result<std::shared_ptr<const Query>> ParseQuery(std::string_view text);

}  // namespace wf::query
