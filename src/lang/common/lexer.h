// Text in one of our languages → tokens with their places. Knows only the grammar that the small languages
// share: names, texts in double quotes, numbers, signs, comments from `#` to the line's end, and where a line
// ends a statement: not inside parentheses, not after "|", not before a line that starts with "|".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lang/common/diagnostic.h"

namespace wf::lang {

enum class TokenKind : uint8_t {
  kName,    // letter or _, then letters, digits, _
  kString,  // "…"; `text` is its value
  kNumber,  // -1, 2.5, 1e9; a unit that follows is a separate name
  kSign,    // ( ) , | . = != < <= > >= ~ ->, or those of the dialect
  kEnd,     // ";" or a newline that ends a statement
  kEof,
};

struct Token {
  TokenKind kind = TokenKind::kEof;
  std::string text;
  int line = 1, column = 1, length = 1;  // as Diagnostic's
  size_t offset = 0;                     // in bytes, of its first byte
  bool Is(std::string_view sign) const { return kind == TokenKind::kSign && text == sign; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

struct Tokens {
  std::vector<Token> tokens;  // the last one is kEof
  std::vector<Diagnostic> diagnostics;
};

// What differs between languages. The defaults are for the feature language and conditions.
struct LexerDialect {
  enum class Newline : uint8_t { kEndsStatement, kIsSpace };
  enum class Minus : uint8_t { kBeginsNumber, kIsSign };
  enum class Comment : uint8_t {
    kHash,    // from # to the line's end
    kSlashes  // from // to the line's end, /* … */, and from # unless a letter follows
  };
  std::vector<std::string_view> long_signs = {"->", "!=", "<=", ">="};  // these are tried first
  std::string_view signs = "(),|.=<>~";
  Newline newline = Newline::kEndsStatement;
  Minus minus = Minus::kBeginsNumber;
  Comment comment = Comment::kHash;
  std::string_view hint;  // lists the signs; empty: those of the feature language
};

// A bad character gives a diagnostic and is skipped, so that the rest is still checked.
Tokens Tokenize(std::string_view text);
Tokens Tokenize(std::string_view text, const LexerDialect& dialect);

}  // namespace wf::lang
