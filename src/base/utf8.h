// UTF-8 repair: texts from senders are not always valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace wf {

bool IsUtf8(std::string_view text);
// The text with every malformed byte replaced by U+FFFD.
std::string RepairUtf8(std::string_view text);

}  // namespace wf
