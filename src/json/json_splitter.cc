#include "json/json_splitter.h"

#include <array>
#include <cstdint>

namespace wf {
namespace {

// Bytes that matter outside of texts.
enum : uint8_t { kPlain = 0, kOpen, kClose, kQuote };
constexpr std::array<uint8_t, 256> MakeClasses() {
  std::array<uint8_t, 256> classes{};
  classes['{'] = classes['['] = kOpen;
  classes['}'] = classes[']'] = kClose;
  classes['"'] = kQuote;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = MakeClasses();

size_t TextEnd(std::string_view text, size_t quote) {
  for (size_t i = quote + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

size_t JsonValueEnd(std::string_view text, size_t begin) {
  size_t depth = 0;
  for (size_t i = begin; i < text.size();) {
    switch (kClasses[static_cast<unsigned char>(text[i])]) {
      case kOpen:
        ++depth;
        ++i;
        break;
      case kClose:
        if (depth <= 1) return depth == 1 ? i + 1 : (i > begin ? i : i + 1);
        --depth;
        ++i;
        break;
      case kQuote:
        i = TextEnd(text, i);
        if (depth == 0) return i;
        break;
      default:
        if (depth == 0 && i > begin && (IsSpace(text[i]) || text[i] == ',')) return i;
        ++i;
    }
  }
  return text.size();
}

void JsonSplitter::SkipSpace() {
  while (at_ < text_.size()) {
    if (IsSpace(text_[at_])) {
      ++at_;
    } else if (mode_ == Mode::kSequence && text_.substr(at_, 3) == "\xEF\xBB\xBF") {
      at_ += 3;
    } else {
      return;
    }
  }
}

bool JsonSplitter::Next(std::string_view& value) {
  SkipSpace();
  begin_ = at_;
  if (malformed_) return false;
  if (mode_ == Mode::kSequence) {
    if (at_ == text_.size()) return false;
  } else {
    if (at_ == text_.size()) return !(malformed_ = true);
    if (text_[at_] == ']') return false;
    if (mode_ == Mode::kArrayNext) {
      if (text_[at_] != ',') return !(malformed_ = true);
      ++at_;
      SkipSpace();
      begin_ = at_;
      if (at_ == text_.size() || text_[at_] == ']') return !(malformed_ = true);
    }
    if (text_[at_] == ',') return !(malformed_ = true);
    mode_ = Mode::kArrayNext;
  }
  at_ = JsonValueEnd(text_, at_);
  value = text_.substr(begin_, at_ - begin_);
  return true;
}

}  // namespace wf
