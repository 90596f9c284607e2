#include "lang/common/lexer.h"

#include <gtest/gtest.h>

#include "lang/common/suggestion.h"

namespace wf::lang {
namespace {

std::string Shown(std::string_view text) {
  std::string out;
  for (const Token& token : Tokenize(text).tokens) {
    if (!out.empty()) out += ' ';
    switch (token.kind) {
      case TokenKind::kEnd:
        out += token.text == ";" ? ";" : "end";
        break;
      case TokenKind::kEof:
        out += "eof";
        break;
      case TokenKind::kString:
        out += "'" + token.text + "'";
        break;
      default:
        out += token.text;
    }
  }
  return out;
}

TEST(Lexer, Tokens) {
  EXPECT_EQ(Shown("A|B(c.d>=-1.5e3 , \"x\\\"y\\n\\d\")->E # rest"),
            "A | B ( c . d >= -1.5e3 , 'x\"y\n\\d' ) -> E eof");
  EXPECT_EQ(Shown("5ms 1e x1e5"), "5 ms 1 e x1e5 eof");
  EXPECT_EQ(Shown(""), "eof");
}

TEST(Lexer, NewlinesEndStatementsButNotInsideThem) {
  EXPECT_EQ(Shown("a\nb"), "a end b eof");
  EXPECT_EQ(Shown("a |\n b"), "a | b eof");
  EXPECT_EQ(Shown("a\n  # why\n\n  | b"), "a | b eof");
  EXPECT_EQ(Shown("a(\nb\n,\nc)\nd"), "a ( b , c ) end d eof");
  EXPECT_EQ(Shown("a ) \n b"), "a ) end b eof");
  EXPECT_EQ(Shown("a;b\r\n"), "a ; b end eof");
}

TEST(Lexer, PlacesCountCharacters) {
  const Tokens tokens = Tokenize("\n  \"grün\" x");
  ASSERT_EQ(tokens.tokens.size(), 4u);
  EXPECT_EQ(tokens.tokens[1].line, 2);
  EXPECT_EQ(tokens.tokens[1].column, 3);
  EXPECT_EQ(tokens.tokens[1].length, 6);
  EXPECT_EQ(tokens.tokens[2].column, 10);
}

TEST(Lexer, WhatItCannotReadIsSaidAndSkipped) {
  const Tokens tokens = Tokenize("a $ b \"no end\nc");
  ASSERT_EQ(tokens.diagnostics.size(), 2u);
  EXPECT_EQ(tokens.diagnostics[0].column, 3);
  EXPECT_EQ(tokens.diagnostics[1].message, "unclosed text");
  EXPECT_EQ(tokens.tokens.back().kind, TokenKind::kEof);
}

TEST(Diagnostic, CaretStandsBelowThePlace) {
  EXPECT_EQ(RenderDiagnostic("one\n\ttwü three", {2, 6, 5, "what", "why"}),
            "2 | \ttwü three\n  | \t    ^~~~~\n  | what\n  | why\n");
  EXPECT_EQ(RenderDiagnostic("", {1, 1, 1, "what", ""}), "1 | \n  | ^\n  | what\n");
  // A place behind the text still shows something.
  EXPECT_EQ(RenderDiagnostic("a", {9, 9, 1, "what", ""}), "9 | \n  | ^\n  | what\n");
}

TEST(Suggestion, TheNearestWordOrNone) {
  const std::vector<std::string> known = {"Duration", "Distinct", "Sum", "Name"};
  EXPECT_EQ(DidYouMean("Durration", known), "did you mean Duration?");
  EXPECT_EQ(DidYouMean("duration", known), "did you mean Duration?");
  EXPECT_EQ(DidYouMean("Smu", known), "did you mean Sum?");
  EXPECT_EQ(DidYouMean("Elephant", known), "");
  EXPECT_EQ(DidYouMean("", known), "");
  EXPECT_EQ(DidYouMean(std::string(1000, 'D'), known), "");
}

}  // namespace
}  // namespace wf::lang
