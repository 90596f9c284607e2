// Base64 as protobuf's JSON writes bytes: standard or URL alphabet in, standard out, padding optional on input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wf {

std::string Base64Encode(std::string_view bytes);
std::optional<std::string> Base64Decode(std::string_view text);

}  // namespace wf
