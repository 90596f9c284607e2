// Base64: standard or URL alphabet in, standard out, padding optional on input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wf {

enum class Base64Padding : uint8_t { kPadded, kNone };
std::string Base64Encode(std::string_view bytes, Base64Padding padding = Base64Padding::kPadded);
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace wf
