// What the written program means: names resolved, keys and aggregates found, and what may stand where.
#pragma once

#include <memory>
#include <vector>

#include "lang/query/syntax.h"

namespace wf::query {

struct Analyzed {
  std::shared_ptr<const Query> query;  // of the last written one; null if there are diagnostics
  std::vector<lang::Diagnostic> diagnostics;
};

Analyzed Analyze(const std::vector<WrittenQuery>& program);

}  // namespace wf::query
