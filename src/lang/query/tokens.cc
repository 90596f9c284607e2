#include "lang/query/tokens.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "lang/common/number_units.h"

namespace wf::query {
namespace {

bool IsWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
// Columns count characters: a byte that continues a UTF-8 character is none.
bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

constexpr std::string_view kLongSigns[] = {"->", "==", "!=", "<=", ">=", "&&", "||"};
constexpr std::string_view kSigns = ".,:;()=<>+-*/!";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Tokens Run() {
    while (!out_.fault) {
      while (at_ < text_.size() && IsSpace(Peek())) Advance();
      Begin();
      if (at_ >= text_.size()) break;
      Step();
    }
    Begin();
    Push(TokenKind::kEnd);
    return std::move(out_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  void Advance() {
    if (text_[at_] == '\n') {
      ++line_;
      column_ = 0;
    }
    ++at_;
    while (at_ < text_.size() && Continues(text_[at_])) ++at_;
    ++column_;
  }
  std::string_view Taken() const { return text_.substr(token_.begin, at_ - token_.begin); }

  void Begin() {
    token_ = Token{};
    token_.place = {line_, column_, 1};
    token_.begin = at_;
  }
  int Length() const {
    return line_ == token_.place.line ? std::max(1, column_ - token_.place.column) : 1;
  }
  void Push(TokenKind kind) {
    token_.kind = kind;
    token_.end = at_;
    token_.place.length = Length();
    out_.tokens.push_back(std::move(token_));
  }
  void Fail(std::string message, std::string hint) {
    token_.place.length = Length();
    out_.fault = At(token_.place, std::move(message), std::move(hint));
  }

  void Step() {
    const char c = Peek();
    if (IsWordStart(c)) return Word();
    if (c == '`') return QuotedWord();
    if (c == '\'' || c == '"') return Text(c);
    if (IsDigit(c)) return Number();
    Sign();
  }

  void Word() {
    while (IsWordStart(Peek()) || IsDigit(Peek())) Advance();
    token_.text = Taken();
    Push(TokenKind::kWord);
  }

  void QuotedWord() {
    Advance();
    while (at_ < text_.size() && Peek() != '`') Advance();
    if (at_ >= text_.size()) return Fail("unclosed name", "close it with a backquote");
    token_.text = text_.substr(token_.begin + 1, at_ - token_.begin - 1);
    token_.quoted = true;
    Advance();
    Push(TokenKind::kWord);
  }

  void Text(char quote) {
    Advance();
    while (at_ < text_.size() && Peek() != quote) {
      if (Peek() == '\\') {
        if (!Escape()) return;
        continue;
      }
      const size_t from = at_;
      Advance();
      token_.text += text_.substr(from, at_ - from);
    }
    if (at_ >= text_.size()) return Fail("unclosed text", std::string("close it with ") + quote);
    Advance();
    Push(TokenKind::kText);
  }

  bool Escape() {
    const char c = Peek(1);
    const std::string_view known = "nt\\'\"", meaning = "\n\t\\'\"";
    const size_t index = c == '\0' ? std::string_view::npos : known.find(c);
    if (index == std::string_view::npos) {
      Fail("a backslash in a text stands before n, t, \\, ' or \"", "write \\\\ for a backslash");
      return false;
    }
    token_.text += meaning[index];
    Advance();
    Advance();
    return true;
  }

  void Number() {
    while (IsDigit(Peek())) Advance();
    bool integer = true;
    if (Peek() == '.' && IsDigit(Peek(1))) {
      integer = false;
      Advance();
      while (IsDigit(Peek())) Advance();
    }
    const size_t sign = Peek(1) == '-' || Peek(1) == '+' ? 1 : 0;
    if ((Peek() == 'e' || Peek() == 'E') && IsDigit(Peek(1 + sign))) {
      integer = false;
      for (size_t i = 0; i <= sign; ++i) Advance();
      while (IsDigit(Peek())) Advance();
    }
    const std::string digits(Taken());
    if (IsWordStart(Peek())) return Unit(digits, integer);
    int64_t whole = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (integer && end.ec == std::errc()) {
      token_.value = whole;
    } else {
      const double number = std::strtod(digits.c_str(), nullptr);
      if (!std::isfinite(number))
        return Fail("this number is too large", "doubles end at about 1.8e308");
      token_.value = number;
    }
    Push(TokenKind::kNumber);
  }

  void Unit(const std::string& digits, bool integer) {
    const size_t from = at_;
    while (IsWordStart(Peek()) || IsDigit(Peek())) Advance();
    const std::string_view unit = text_.substr(from, at_ - from);
    const char* const kHint = "a duration is an integer and ns, us, ms, s, m or h, as 5ms";
    int64_t factor = 0;
    for (const lang::NumberUnit& known : lang::kNumberUnits)
      if (known.name == unit && unit.back() != 'B') factor = known.factor;
    if (factor == 0)
      return Fail("\"" + std::string(unit) + "\" behind a number is not a unit of time", kHint);
    int64_t whole = 0, nanos = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
    if (!integer) return Fail("a duration is an integer and its unit", "use a smaller unit");
    if (end.ec != std::errc() || __builtin_mul_overflow(whole, factor, &nanos))
      return Fail("this duration is longer than 64 bits of nanoseconds", "that is 292 years");
    token_.value = nanos;
    Push(TokenKind::kDuration);
  }

  void Sign() {
    for (const std::string_view known : kLongSigns) {
      if (text_.substr(at_, known.size()) != known) continue;
      Advance();
      Advance();
      token_.text = known;
      return Push(TokenKind::kSign);
    }
    const char c = Peek();
    Advance();
    if (kSigns.find(c) != std::string_view::npos) {
      token_.text = std::string(1, c);
      return Push(TokenKind::kSign);
    }
    std::string hint = "signs are . , : ; ( ) -> = != < <= > >= + - * / ! && ||";
    if (c == '&') hint = "write && or And";
    if (c == '|') hint = "write || or Or";
    const std::string_view taken = Taken();
    if (taken == "“" || taken == "”" || taken == "‘" || taken == "’")
      hint = "texts stand in straight quotes: 'css' or \"css\"";
    if (taken == "→") hint = "write ->";
    if (c == '$' || c == '@' || c == '-') hint += "; a name with other characters: `a-b`";
    const bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    Fail(printable ? "\"" + std::string(taken) + "\" is not expected here"
                   : "a control character is not expected here",
         std::move(hint));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
  Token token_;
  Tokens out_;
};

}  // namespace

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

bool Token::IsWord(std::string_view word) const {
  return kind == TokenKind::kWord && !quoted && SameWord(text, word);
}

const std::vector<std::string>& Keywords() {
  static const std::vector<std::string> keywords = {
      "From",   "In", "Join", "On", "Where", "Sample", "Window", "GroupBy",
      "Select", "As", "And",  "Or", "Not",   "true",   "false"};
  return keywords;
}

bool IsKeyword(std::string_view word) {
  const auto& all = Keywords();
  return std::any_of(all.begin(), all.end(),
                     [&](const std::string& keyword) { return SameWord(keyword, word); });
}

Tokens Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace wf::query
