// Text of the feature language → Program. A statement that does not parse gives one diagnostic and is left out; the
// rest is still parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lang/common/diagnostic.h"
#include "lang/feature/feature_ast.h"

namespace wf::feature {

struct Parsed {
  Program program;
  std::vector<lang::Diagnostic> diagnostics;
  // Names that statements with faults would have defined: using them is no further fault.
  std::vector<std::string> spoiled;
};

Parsed Parse(std::string_view text);

// Parentheses deeper than this are refused: the parser recurses once for each.
constexpr int kMaxNesting = 60;
// Longer programs are refused: a program is what somebody wrote, or a dataset includes.
constexpr size_t kMaxProgramBytes = 256 * 1024;

}  // namespace wf::feature
