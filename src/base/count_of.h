// Numbers with their noun, for text that people read: "1 trace", "2 traces".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wf {

// `many` where the plural is not made by an s.
inline std::string CountOf(uint64_t count, std::string_view one, std::string_view many = {}) {
  std::string out = std::to_string(count) + " ";
  if (count != 1 && !many.empty()) return out.append(many);
  return out.append(one).append(count == 1 ? "" : "s");
}

}  // namespace wf
