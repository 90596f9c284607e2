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
  // Names that faulty statements would have defined: using them is not another error.
  std::vector<std::string> spoiled;
};

Parsed Parse(std::string_view text);

// Parentheses nested deeper than this are rejected: the parser recurses once for each.
constexpr int kMaxNesting = 60;
// Longer programs are rejected: programs are written by hand, or included by a dataset.
constexpr size_t kMaxProgramBytes = 256 * 1024;

}  // namespace wf::feature
