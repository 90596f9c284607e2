// The meaning of the parsed program: resolves names, finds keys and aggregates, and checks what is allowed
// where.
#pragma once

#include <memory>
#include <vector>

#include "lang/query/syntax.h"

namespace wf::query {

struct Analyzed {
  std::shared_ptr<const Query> query;  // the last query in the text; null if there are diagnostics
  std::vector<lang::Diagnostic> diagnostics;
};

Analyzed Analyze(const std::vector<WrittenQuery>& program);

}  // namespace wf::query
