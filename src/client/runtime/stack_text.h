// Raw return addresses → names, for the drain thread.
#pragma once

#include <string>
#include <string_view>

namespace wherefore::client {

// `frames`: addresses, 8 bytes each, the innermost first. The names joined by ";", the outermost first. A function
// whose name the dynamic symbol table does not have is written as its file and offset.
std::string StackText(std::string_view frames);

}  // namespace wherefore::client
