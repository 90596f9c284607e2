#include "answer/frame/text_style.h"

#include <algorithm>
#include <utility>

namespace wf::answer {
namespace {

TextStyle& ThreadTextStyle() {
  thread_local TextStyle style;
  return style;
}

std::string_view AnsiCode(Paint paint) {
  switch (paint) {
    case Paint::kHeading:
    case Paint::kVerdict:
      return "1";  // bold
    case Paint::kCulprit:
      return "33";  // yellow: readable on black and on white
    case Paint::kHint:
      return "2";  // dim
    case Paint::kError:
      return "31";  // red
  }
  return "0";
}

}  // namespace

const TextStyle& CurrentTextStyle() { return ThreadTextStyle(); }

ScopedTextStyle::ScopedTextStyle(TextStyle style)
    : before_(std::exchange(ThreadTextStyle(), style)) {}

ScopedTextStyle::~ScopedTextStyle() { ThreadTextStyle() = before_; }

std::string Painted(Paint paint, std::string_view text) {
  return Painted(paint, text, CurrentTextStyle().color);
}

std::string Painted(Paint paint, std::string_view text, TextColor color) {
  if (color == TextColor::kPlain) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      out.append("\x1b[").append(AnsiCode(paint)).append("m");
      out.append(text.substr(0, end)).append("\x1b[0m");
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace wf::answer
