// White space of JSON, for looking at a text without parsing it.
#pragma once

#include <cstddef>
#include <string_view>

namespace wf::detect {

inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

}  // namespace wf::detect
