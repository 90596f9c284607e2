#include "lang/common/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <regex>

namespace wf::lang {
namespace {

bool Match(std::string_view expression, std::string_view text) {
  const Result<Pattern> pattern = Pattern::Compile(expression);
  EXPECT_TRUE(pattern.ok()) << expression << ": " << (pattern.ok() ? "" : pattern.error().message);
  return pattern.ok() && pattern->Matches(text);
}

TEST(Pattern, Syntax) {
  struct Case {
    const char* expression;
    const char* text;
    bool matches;
  };
  const Case cases[] = {
      {"", "", true},
      {"", "abc", true},
      {"b", "abc", true},
      {"d", "abc", false},
      {"^b", "abc", false},
      {"^ab", "abc", true},
      {"bc$", "abc", true},
      {"b$", "abc", false},
      {"^abc$", "abc", true},
      {"a.c", "abc", true},
      {"a.c", "a\nc", false},
      {"a\\.c", "abc", false},
      {"a\\.c", "a.c", true},
      {"[a-c]+$", "xxabc", true},
      {"^[^a-c]+$", "xyz", true},
      {"^[^a-c]+$", "xbz", false},
      {"[]x]", "]", true},
      {"[a\\]]", "]", true},
      {"[\\d-]", "-", true},
      {"\\d{3}", "ab12", false},
      {"\\d{3}", "ab123", true},
      {"^\\w+\\s\\W$", "word !", true},
      {"^(GET|POST) /", "POST /cart", true},
      {"^(GET|POST) /", "PUT /cart", false},
      {"^(?:ab)*$", "ababab", true},
      {"^(?:ab)*$", "aba", false},
      {"^a{2,3}$", "a", false},
      {"^a{2,3}$", "aaa", true},
      {"^a{2,3}$", "aaaa", false},
      {"^a{2,}$", "aaaaaa", true},
      {"^a{0}b$", "b", true},
      {"^a?b$", "b", true},
      {"a||b", "x", true},
      {"^(|a)$", "", true},
      {"(?i)^Get", "gET /", true},
      {"(?i)[A-C]x", "BX", true},
      {"ü", "grün", true},
      {"\\n", "a\nb", true},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Match(c.expression, c.text), c.matches) << c.expression << " on " << c.text;
}

TEST(Pattern, FaultsSayWhereAndWhat) {
  for (const char* bad : {"(", ")", "a)", "[a", "*", "a**", "a{", "a{2", "a{3,2}", "a{101}", "\\",
                          "[b-a]", "(?=x)", "[a\\"}) {
    const Result<Pattern> pattern = Pattern::Compile(bad);
    ASSERT_FALSE(pattern.ok()) << bad;
    EXPECT_NE(pattern.error().message.find("character"), std::string::npos) << bad;
  }
  EXPECT_FALSE(Pattern::Compile(std::string(1000, '(')).ok());
  EXPECT_FALSE(Pattern::Compile("(((a{100}){100}){100})").ok());
}

// Backtracking takes 2^30 steps here; this must not.
TEST(Pattern, TimeIsLinearInTheText) {
  const std::string text(20'000, 'a');
  EXPECT_FALSE(Match("^(a+)+$", text + "b"));
  EXPECT_FALSE(Match("^(a|aa)*b$", text));
  EXPECT_TRUE(Match("(a*)*(a*)*(a*)*$", text));
}

// The standard library's matcher, on patterns and texts so small that its backtracking does no harm.
TEST(Pattern, AgreesWithTheStandardLibrary) {
  const auto atom = [] {
    return rc::gen::element<std::string>("a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab|b)", "\\w");
  };
  EXPECT_TRUE(rc::check("small patterns match the same texts", [&] {
    std::string expression = *rc::gen::element<std::string>("", "^");
    const int atoms = *rc::gen::inRange(1, 5);
    for (int i = 0; i < atoms; ++i) {
      expression += *atom();
      expression += *rc::gen::element<std::string>("", "", "*", "+", "?", "{2}", "{1,2}", "|");
    }
    expression += *rc::gen::element<std::string>("", "$");
    const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
    const std::string short_text = text.substr(0, 12);
    const bool expected =
        std::regex_search(short_text, std::regex(expression, std::regex::ECMAScript));
    RC_ASSERT(Match(expression, short_text) == expected);
  }));
}

}  // namespace
}  // namespace wf::lang
