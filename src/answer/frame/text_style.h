// How text is laid out for the person who reads it: columns, and colour or none. One style per thread: the command line
// sets it once from its terminal, Ask sets it from the parameters `width` and `color` while it answers a request. The
// default is what a pipe gets, so that text in files and tests is always the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wf::answer {

enum class TextColor { kPlain, kAnsi };

constexpr int64_t kMinTextWidth = 40, kMaxTextWidth = 500;  // columns

struct TextStyle {
  size_t width = 100;
  TextColor color = TextColor::kPlain;
};

const TextStyle& CurrentTextStyle();
inline size_t TextWidth() { return CurrentTextStyle().width; }

// The style of this thread until the end of the scope; scopes may be nested.
class ScopedTextStyle {
 public:
  explicit ScopedTextStyle(TextStyle style);
  ~ScopedTextStyle();
  ScopedTextStyle(const ScopedTextStyle&) = delete;
  ScopedTextStyle& operator=(const ScopedTextStyle&) = delete;

 private:
  TextStyle before_;
};

enum class Paint { kHeading, kVerdict, kCulprit, kHint, kError };

// The text in the colour of its role, line by line; unchanged in a plain style. Paint last: the codes have no width.
std::string Painted(Paint paint, std::string_view text);
std::string Painted(Paint paint, std::string_view text, TextColor color);

}  // namespace wf::answer
