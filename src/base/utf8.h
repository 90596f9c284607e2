// UTF-8: what senders call text is not always text.
#pragma once

#include <string>
#include <string_view>

namespace wf {

bool IsUtf8(std::string_view text);
// The text with every malformed byte replaced by U+FFFD.
std::string RepairUtf8(std::string_view text);

}  // namespace wf
