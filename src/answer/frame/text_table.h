// TextTable: aligned columns for a terminal, held to a width by cutting one elastic column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/frame/text_style.h"
#include "base/count_of.h"

namespace wf::answer {

// Names come from outside: no control character may reach the terminal.
std::string Printable(std::string_view text);
// Columns a terminal needs for a UTF-8 text, one per code point; good enough for what names are made of.
size_t DisplayWidth(std::string_view text);
// The text cut to `width` columns, the last of them … when something was cut.
std::string CutToWidth(std::string_view text, size_t width);

// Lines of at most `width` columns, broken at blanks, each with its line feed.
std::string Wrapped(std::string_view text, size_t width = TextWidth());
// Printable, and safe inside XML.
std::string XmlText(std::string_view text);

enum class RowMark { kNone, kCulprit };  // kCulprit: stands out where there is colour

class TextTable {
 public:
  TextTable(std::vector<std::string> heads, std::vector<size_t> right_aligned);
  void Row(std::vector<std::string> cells, RowMark mark = RowMark::kNone);
  // `elastic`: the column that gives way when the table is wider than `width`.
  std::string Print(size_t width, size_t elastic) const;

 private:
  std::vector<std::vector<std::string>> rows_;  // heads first
  std::vector<RowMark> marks_;                  // of each row
  std::vector<bool> right_;
};

}  // namespace wf::answer
