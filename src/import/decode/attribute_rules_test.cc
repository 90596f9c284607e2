#include "import/decode/attribute_rules.h"

#include <gtest/gtest.h>

#include "import/decode/attribute_writer.h"

namespace wf::decode {
namespace {

TEST(AttributeRules, Globs) {
  EXPECT_TRUE(GlobMatches("user.*", "user.id"));
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("a?c", "abc"));
  EXPECT_TRUE(GlobMatches("*.header.*.x", "http.header.header.a.x"));
  EXPECT_TRUE(GlobMatches("*ab", "aaab"));
  EXPECT_FALSE(GlobMatches("user.*", "users.id"));
  EXPECT_FALSE(GlobMatches("a?c", "ac"));
  EXPECT_FALSE(GlobMatches("", "a"));
  // Exponential matchers never come back from this.
  EXPECT_FALSE(GlobMatches("*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST(AttributeRules, TheFirstMatchDecides) {
  const std::vector<AttributeRule> rules = {
      {false, AttributePlace::kSpan, "a.*", AttributeAction::kKeep},
      {true, {}, "a.*", AttributeAction::kDrop}};
  EXPECT_EQ(ActionFor(rules, AttributePlace::kSpan, "a.b"), AttributeAction::kKeep);
  EXPECT_EQ(ActionFor(rules, AttributePlace::kLink, "a.b"), AttributeAction::kDrop);
}

// The vectors of the SipHash paper's reference: key 00..0f, input 00..n-1.
TEST(AttributeRules, KeyedHashIsSipHash) {
  const HashKey key{0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};
  EXPECT_EQ(KeyedHashHex("", key), "726fdb47dd0e0e31");
  EXPECT_EQ(
      KeyedHashHex(std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e", 15),
                   key),
      "a129ca6149be45e5");
}

TEST(AttributeRules, IsAsciiSeesEveryByte) {
  for (size_t n = 0; n < 40; ++n) {
    std::string text(n, 'a');
    EXPECT_TRUE(IsAscii(text));
    for (size_t i = 0; i < n; ++i) {
      text[i] = '\x80';
      EXPECT_FALSE(IsAscii(text)) << n << " " << i;
      text[i] = 'a';
    }
  }
}

}  // namespace
}  // namespace wf::decode
