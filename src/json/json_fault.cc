// A slow, exact walk over a text that the fast parser has refused, to say where and why.
#include <fmt/format.h>

#include "base/utf8.h"
#include "json/json_reader.h"

namespace wf {
namespace {

class FaultFinder {
 public:
  FaultFinder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  std::optional<JsonFault> Run() {
    if (SkipSpace(); at_ == text_.size()) return Fault("the text is empty");
    // One loop instead of recursion: the nesting is the sender's choice.
    bool want_value = true;
    while (!fault_) {
      if (SkipSpace(); want_value) {
        if (!Value()) break;
        want_value = opened_;
        if (opened_ && !Open(want_value)) break;
      } else if (open_.empty()) {
        if (at_ != text_.size()) Fault("text behind the end of the JSON value");
        break;
      } else if (at_ == text_.size()) {
        Fault(
            fmt::format("the text ends inside {}", open_.back() == '{' ? "an object" : "an array"));
      } else if (text_[at_] == ',') {
        ++at_;
        want_value = open_.back() == '[' || Key();
      } else if (text_[at_] == (open_.back() == '{' ? '}' : ']')) {
        ++at_;
        open_.pop_back();
      } else {
        Fault(fmt::format("expected ',' or '{}'", open_.back() == '{' ? '}' : ']'));
      }
    }
    return fault_;
  }

 private:
  std::optional<JsonFault> Fault(std::string reason) {
    if (!fault_) fault_ = JsonFault{at_, std::move(reason)};
    return fault_;
  }
  void SkipSpace() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  // A value at at_; brackets are only noted in open_.
  bool Value() {
    opened_ = false;
    if (at_ == text_.size()) return Fault("expected a value, found the end of the text"), false;
    const char c = text_[at_];
    if (c == '{' || c == '[') {
      if (open_.size() + 1 > limits_.max_depth) {
        return Fault(fmt::format("nested deeper than {} levels", limits_.max_depth)), false;
      }
      open_.push_back(c);
      opened_ = true;
      ++at_;
      return true;
    }
    if (c == '"') return String();
    if (c == '-' || (c >= '0' && c <= '9')) return Number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return true;
      }
    }
    return Fault("expected a value"), false;
  }

  // Behind an opening bracket: an empty container closes, else its first value (behind its key) is wanted.
  bool Open(bool& want_value) {
    SkipSpace();
    const char close = open_.back() == '{' ? '}' : ']';
    if (at_ < text_.size() && text_[at_] == close) {
      ++at_;
      open_.pop_back();
      want_value = false;
      return true;
    }
    want_value = true;
    return open_.back() == '[' || Key();
  }

  bool Key() {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != '"') return Fault("expected a key in quotes"), false;
    if (!String()) return false;
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != ':') return Fault("expected ':' behind a key"), false;
    ++at_;
    return true;
  }

  int Hex4(size_t at) const {
    int value = 0;
    for (size_t i = at; i < at + 4; ++i) {
      const char c = i < text_.size() ? text_[i] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return -1;
      value = value * 16 + digit;
    }
    return value;
  }

  bool String() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"') {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return Fault("control character inside a text"), false;
      if (c >= 0x80) {
        size_t length = 1;
        while (length < 4 && !IsUtf8(text_.substr(at_, length))) ++length;
        if (!IsUtf8(text_.substr(at_, length))) return Fault("bytes that are not UTF-8"), false;
        at_ += length;
        continue;
      }
      if (c != '\\') {
        ++at_;
        continue;
      }
      const char escape = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (escape == 'u') {
        const int unit = Hex4(at_ + 2);
        if (unit < 0) return Fault("'\\u' without four hexadecimal digits"), false;
        size_t length = 6;
        if (unit >= 0xD800 && unit <= 0xDFFF) {
          const int low = text_.substr(at_ + 6, 2) == "\\u" ? Hex4(at_ + 8) : -1;
          if (unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
            return Fault("half of a surrogate pair"), false;
          length = 12;
        }
        at_ += length;
      } else if (escape != '\0' &&
                 std::string_view("\"\\/bfnrt").find(escape) != std::string_view::npos) {
        at_ += 2;
      } else {
        return Fault("unknown escape inside a text"), false;
      }
    }
    if (at_ >= text_.size()) {
      at_ = begin;
      return Fault("a text that does not end"), false;
    }
    ++at_;
    return true;
  }

  bool Number() {
    const size_t begin = at_;
    const auto digits = [&] {
      const size_t from = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ - from;
    };
    const bool negative = text_[at_] == '-';
    if (negative) ++at_;
    const size_t first = at_;
    const size_t whole = digits();
    const auto bad = [&](const char* reason) {
      at_ = begin;
      Fault(reason);
      return false;
    };
    if (whole == 0 || (whole > 1 && text_[first] == '0')) return bad("a malformed number");
    bool integer = true;
    if (at_ < text_.size() && text_[at_] == '.') {
      integer = false;
      ++at_;
      if (digits() == 0) return bad("a malformed number");
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      integer = false;
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (digits() == 0) return bad("a malformed number");
    }
    const std::string_view most = negative ? "9223372036854775808" : "18446744073709551615";
    if (integer &&
        (whole > most.size() || (whole == most.size() && text_.substr(first, whole) > most))) {
      return bad("an integer beyond 64 bits");
    }
    if (!integer && (at_ - begin > 300 || text_.substr(begin, at_ - begin).find_first_of("eE") !=
                                              std::string_view::npos)) {
      const double value =
          std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr);
      if (value - value != 0) return bad("a number beyond the range of doubles");
    }
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  size_t at_ = 0;
  std::string open_;
  bool opened_ = false;
  std::optional<JsonFault> fault_;
};

}  // namespace

std::optional<JsonFault> FindJsonFault(std::string_view text, const JsonLimits& limits) {
  return FaultFinder(text, limits).Run();
}

}  // namespace wf
