#include "lang/common/diagnostic.h"

#include <algorithm>

namespace wf::lang {

std::string RenderDiagnostic(std::string_view text, const Diagnostic& diagnostic) {
  size_t begin = 0;
  for (int line = 1; line < diagnostic.line && begin < text.size(); ++line) {
    const size_t newline = text.find('\n', begin);
    begin = newline == std::string_view::npos ? text.size() : newline + 1;
  }
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);

  std::string number = std::to_string(diagnostic.line);
  const std::string margin(number.size(), ' ');
  std::string out = number + " | " + std::string(line) + "\n" + margin + " | ";
  // A tab before the place stays a tab, so that the caret stands below it whatever a tab is worth.
  int column = 1;
  for (size_t i = 0; i < line.size() && column < diagnostic.column; ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0) == 0x80) continue;
    out += line[i] == '\t' ? '\t' : ' ';
    ++column;
  }
  out += '^';
  out.append(static_cast<size_t>(std::clamp(diagnostic.length - 1, 0, 200)), '~');
  out += "\n" + margin + " | " + diagnostic.message + "\n";
  if (!diagnostic.hint.empty()) out += margin + " | " + diagnostic.hint + "\n";
  return out;
}

}  // namespace wf::lang
