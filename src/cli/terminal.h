// What the terminal of this command can show: its width, and colour. Nothing is assumed of a pipe or a file.
#pragma once

#include <string>

#include "answer/frame/text_style.h"

namespace wf::cli {

// --color: always, never, or auto: where `descriptor` is a terminal, unless NO_COLOR is set or TERM is dumb.
answer::TextColor ColorOf(const std::string& choice, int descriptor);

// Of text on standard output.
answer::TextStyle StyleOfOutput(const std::string& color);

}  // namespace wf::cli
