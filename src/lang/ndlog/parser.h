// Text → syntax tree (docs/reference/ndlog.md). Never fails as a whole: what it cannot read becomes
// diagnostics, and it continues after the next full stop.
#pragma once

#include <string_view>
#include <vector>

#include "lang/ndlog/ast.h"

namespace wf::ndlog {

struct Parsed {
  Source source;
  std::vector<lang::Diagnostic> diagnostics;
};

Parsed Parse(std::string_view text);

}  // namespace wf::ndlog
