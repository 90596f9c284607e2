#include <cstddef>
#include <cstdint>

#include "weaver/function_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wf::weaver;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t split = text.find('\n');
  const std::string_view pattern = text.substr(0, split);
  const std::string_view symbol = split == std::string_view::npos ? text : text.substr(split + 1);
  if (symbol.find_first_of(" \t") != std::string_view::npos) return 0;  // no symbol has blanks
  // The demangler is the standard library's own; names that are not mangled take every other path.
  if (symbol.substr(0, 2) == "_Z") return 0;
  const FunctionName name = ParseFunctionName(symbol);
  const NamePattern compiled(pattern);
  if (compiled.Matches(symbol, name) && !compiled.MayMatch(symbol)) __builtin_trap();
  if (!SignatureMatches(pattern, pattern) && SplitParameters(pattern).empty()) __builtin_trap();
  CanonicalType(text);
  Unqualified(text);
  return 0;
}
