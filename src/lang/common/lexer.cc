#include "lang/common/lexer.h"

namespace wf::lang {
namespace {

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Columns count characters: a byte that continues a UTF-8 character is none.
bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

class Lexer {
 public:
  Lexer(std::string_view text, const LexerDialect& dialect) : text_(text), dialect_(dialect) {}

  Tokens Run() {
    while (at_ < text_.size()) Step();
    Begin(TokenKind::kEof);
    Push();
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

  void Begin(TokenKind kind) {
    token_ = Token{kind, "", line_, column_, 1, at_};
    start_column_ = column_;
    start_line_ = line_;
  }
  void Push() {
    token_.length = line_ == start_line_ && column_ > start_column_ ? column_ - start_column_ : 1;
    out_.tokens.push_back(std::move(token_));
  }
  void Complain(std::string message, std::string hint) {
    const int length =
        line_ == start_line_ && column_ > start_column_ ? column_ - start_column_ : 1;
    out_.diagnostics.push_back(
        {start_line_, start_column_, length, std::move(message), std::move(hint)});
  }

  void Step() {
    const char c = Peek();
    const bool minus = dialect_.minus == LexerDialect::Minus::kBeginsNumber;
    if (c == '\n' && dialect_.newline == LexerDialect::Newline::kEndsStatement) return Newline();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return Advance();
    if (StartsComment()) return SkipComment();
    if (IsNameStart(c)) return Name();
    if (c == '"') return String();
    if (IsDigit(c) || (minus && c == '-' && IsDigit(Peek(1)))) return Number();
    if (c == ';') {
      Begin(TokenKind::kEnd);
      Advance();
      token_.text = ";";
      return Push();
    }
    Sign();
  }

  bool StartsComment() const {
    if (dialect_.comment == LexerDialect::Comment::kHash) return Peek() == '#';
    if (Peek() == '/') return Peek(1) == '/' || Peek(1) == '*';
    return Peek() == '#' && !IsNameStart(Peek(1));
  }

  void SkipComment() {
    if (Peek() == '/' && Peek(1) == '*') {
      Begin(TokenKind::kSign);
      Advance();
      Advance();
      while (at_ < text_.size() && !(Peek() == '*' && Peek(1) == '/')) Advance();
      if (at_ >= text_.size()) return Complain("unclosed comment", "close it with */");
      Advance();
      return Advance();
    }
    while (at_ < text_.size() && text_[at_] != '\n') Advance();
  }

  // What the next line that says anything begins with.
  char NextLineStartsWith() const {
    size_t i = at_;
    while (i < text_.size()) {
      const char c = text_[i];
      if (c == '#') {
        while (i < text_.size() && text_[i] != '\n') ++i;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++i;
      } else {
        return c;
      }
    }
    return '\0';
  }

  void Newline() {
    const bool after_bar = !out_.tokens.empty() && out_.tokens.back().Is("|");
    if (depth_ > 0 || after_bar || NextLineStartsWith() == '|') return Advance();
    Begin(TokenKind::kEnd);
    token_.text = "\n";
    Push();
    Advance();
  }

  void Name() {
    Begin(TokenKind::kName);
    while (IsNameStart(Peek()) || IsDigit(Peek())) Advance();
    token_.text = text_.substr(token_.offset, at_ - token_.offset);
    Push();
  }

  void Number() {
    Begin(TokenKind::kNumber);
    Advance();  // a digit, or the sign before one
    while (IsDigit(Peek())) Advance();
    if (Peek() == '.' && IsDigit(Peek(1))) {
      Advance();
      while (IsDigit(Peek())) Advance();
    }
    const bool exponent = Peek() == 'e' || Peek() == 'E';
    const size_t sign = Peek(1) == '-' || Peek(1) == '+' ? 1 : 0;
    if (exponent && IsDigit(Peek(1 + sign))) {
      for (size_t i = 0; i <= sign; ++i) Advance();
      while (IsDigit(Peek())) Advance();
    }
    token_.text = text_.substr(token_.offset, at_ - token_.offset);
    Push();
  }

  void String() {
    Begin(TokenKind::kString);
    Advance();
    while (at_ < text_.size() && Peek() != '"' && Peek() != '\n') {
      const size_t from = at_;
      if (Peek() == '\\' && at_ + 1 < text_.size() && Peek(1) != '\n') {
        Advance();
        const char escaped = Peek();
        const size_t start = at_;
        Advance();
        if (escaped == 'n') {
          token_.text += '\n';
        } else if (escaped == 't') {
          token_.text += '\t';
        } else if (escaped == '"' || escaped == '\\') {
          token_.text += escaped;
        } else {  // patterns are full of these: \d means \d
          token_.text += '\\';
          token_.text += text_.substr(start, at_ - start);
        }
        continue;
      }
      Advance();
      token_.text += text_.substr(from, at_ - from);
    }
    if (Peek() != '"') {
      Complain("unclosed text", "close it with \" on the same line");
      depth_ = 0;  // what would have closed the parentheses was taken for text
    } else {
      Advance();
    }
    Push();
  }

  void Sign() {
    Begin(TokenKind::kSign);
    for (const std::string_view known : dialect_.long_signs) {
      if (text_.substr(at_, known.size()) != known) continue;
      for (size_t i = 0; i < known.size(); ++i) Advance();
      token_.text = known;
      return Push();
    }
    const char c = Peek();
    Advance();
    if (dialect_.signs.find(c) != std::string_view::npos) {
      if (c == '(') ++depth_;
      if (c == ')' && depth_ > 0) --depth_;
      token_.text = std::string(1, c);
      return Push();
    }
    const std::string_view character = text_.substr(token_.offset, at_ - token_.offset);
    std::string hint = "the language uses ( ) , | . = != < <= > >= ~ -> ; and #";
    if (c == '\'' || character == "“" || character == "”" || character == "‘" || character == "’")
      hint = "texts stand in straight double quotes: \"css\"";
    if (!dialect_.hint.empty()) {
      hint = dialect_.hint;
    } else if (c == '+' || c == '-' || c == '*' || c == '/') {
      hint = "arithmetic is a stage: | Add(x), | Subtract(x), | Multiply(x), | Divide(x)";
    } else if (c == '!') {
      hint = "write not, or !=";
    }
    const bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    Complain(printable ? "\"" + std::string(character) + "\" is not expected here"
                       : "a control character is not expected here",
             std::move(hint));
  }

  std::string_view text_;
  const LexerDialect& dialect_;
  size_t at_ = 0;
  int line_ = 1, column_ = 1;
  int start_line_ = 1, start_column_ = 1;
  int depth_ = 0;  // of parentheses
  Token token_;
  Tokens out_;
};

}  // namespace

Tokens Tokenize(std::string_view text) { return Tokenize(text, LexerDialect{}); }

Tokens Tokenize(std::string_view text, const LexerDialect& dialect) {
  return Lexer(text, dialect).Run();
}

}  // namespace wf::lang
