// The text of a query → tokens with their places. The language has its own lexer: names may be in backquotes,
// texts in either kind of quotes, and a number may have a unit of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advice/value.h"
#include "lang/query/ast.h"

namespace wf::query {

enum class TokenKind : uint8_t {
  kWord,      // one part of a name, or a keyword
  kText,      // '…' or "…"; `text` is its value
  kNumber,    // `value`: an integer, or a double
  kDuration,  // `value`: nanoseconds
  kSign,      // . , : ; ( ) -> = == != < <= > >= + - * / ! && ||
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  advice::Value value;
  bool quoted = false;  // a word in backquotes: never a keyword
  Place place;
  size_t begin = 0, end = 0;  // in bytes

  bool Is(std::string_view sign) const { return kind == TokenKind::kSign && text == sign; }
  // Keywords, filters and functions are recognised in any case.
  bool IsWord(std::string_view word) const;
};

struct Tokens {
  std::vector<Token> tokens;  // the last one is kEnd
  std::optional<lang::Diagnostic> fault;
};

Tokens Tokenize(std::string_view text);

// From, In, Join, …: names that no alias may have, except in backquotes.
bool IsKeyword(std::string_view word);
const std::vector<std::string>& Keywords();

bool SameWord(std::string_view a, std::string_view b);  // ASCII, ignoring case

}  // namespace wf::query
