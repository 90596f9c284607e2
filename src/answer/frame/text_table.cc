#include "answer/frame/text_table.h"

#include <algorithm>

#include "base/utf8.h"

namespace wf::answer {

std::string Printable(std::string_view text) {
  std::string out = IsUtf8(text) ? std::string(text) : RepairUtf8(text);
  std::string clean;
  for (size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    const bool c1_control =
        c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0;
    if (c < 0x20 || c == 0x7F) {
      clean += '?';
    } else if (c1_control) {
      clean += '?';
      ++i;
    } else {
      clean += out[i];
    }
  }
  return clean;
}

size_t DisplayWidth(std::string_view text) {
  size_t width = 0;
  for (unsigned char c : text) width += (c & 0xC0) != 0x80;
  return width;
}

std::string CutToWidth(std::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  size_t columns = 0, bytes = 0;
  while (bytes < text.size() && columns + 1 < width) {
    ++bytes;
    while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) ++bytes;
    ++columns;
  }
  return std::string(text.substr(0, bytes)) + (width > 0 ? "…" : "");
}

std::string Wrapped(std::string_view text, size_t width) {
  std::string out, line;
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    const std::string word = CutToWidth(text.substr(0, space), width);
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + line + "\n";
}

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : Printable(text)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

TextTable::TextTable(std::vector<std::string> heads, std::vector<size_t> right_aligned)
    : right_(heads.size(), false) {
  for (size_t column : right_aligned) right_[column] = true;
  rows_.push_back(std::move(heads));
  marks_.push_back(RowMark::kNone);
}

void TextTable::Row(std::vector<std::string> cells, RowMark mark) {
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
  marks_.push_back(mark);
}

std::string TextTable::Print(size_t width, size_t elastic) const {
  std::vector<size_t> widths(right_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  size_t total = 2 * (widths.size() - 1);
  for (size_t w : widths) total += w;
  if (total > width) {
    const size_t excess = total - width;
    widths[elastic] = widths[elastic] > excess + 8 ? widths[elastic] - excess
                                                   : std::min<size_t>(widths[elastic], 8);
  }
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    const auto& row = rows_[r];
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string cell = CutToWidth(row[i], widths[i]);
      const std::string padding(widths[i] - DisplayWidth(cell), ' ');
      if (i != 0) line += "  ";
      line += right_[i] ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (r == 0) line = Painted(Paint::kHeading, line);
    if (marks_[r] == RowMark::kCulprit) line = Painted(Paint::kCulprit, line);
    out += line + "\n";
  }
  return out;
}

}  // namespace wf::answer
