// An error in a text in one of our languages: where it is, what it is, and what to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wf::lang {

struct Diagnostic {
  int line = 1;    // from 1
  int column = 1;  // from 1, in characters
  int length = 1;
  std::string message;
  std::string hint;  // may be empty
};

// The text's line with a caret under the place, the message and the hint, for a terminal.
std::string RenderDiagnostic(std::string_view text, const Diagnostic& diagnostic);

}  // namespace wf::lang
