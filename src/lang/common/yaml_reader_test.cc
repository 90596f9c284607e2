#include "lang/common/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::lang {
namespace {

std::string Refusal(const std::string& text, const YamlLimits& limits = {}) {
  const auto read = ReadYaml(text, "x.yaml", limits);
  return read.ok() ? "accepted" : read.error().message;
}

TEST(YamlReader, GivesValuesWithTheirLines) {
  const auto read = ReadYaml(
      "# a comment\nname: pages\nlist: [a, 'b c']\nnested:\n  inner: 5\ntext: |\n  first\n"
      "  second\nnothing: ~\nquoted: \"~\"\nempty:\n",
      "x.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->Get("name")->text, "pages");
  EXPECT_EQ(read->Get("name")->line, 2);
  ASSERT_EQ(read->Get("list")->items.size(), 2u);
  EXPECT_EQ(read->Get("list")->items[1].text, "b c");
  EXPECT_EQ(read->Get("nested")->Get("inner")->text, "5");
  EXPECT_EQ(read->Get("nested")->Get("inner")->line, 5);
  EXPECT_EQ(read->Get("text")->text, "first\nsecond\n");
  EXPECT_EQ(read->Get("text")->line, 7);
  EXPECT_TRUE(read->Get("nothing")->IsNull());
  EXPECT_EQ(read->Get("quoted")->text, "~");
  EXPECT_TRUE(read->Get("empty")->IsNull());
  EXPECT_EQ(read->Get("not there"), nullptr);
  EXPECT_TRUE(ReadYaml("", "x")->IsNull());
  EXPECT_TRUE(ReadYaml("# only a comment\n", "x")->IsNull());
}

TEST(YamlReader, RefusesWhatItCannotBound) {
  EXPECT_EQ(Refusal("a: &x [1, 2]\nb: *x\n"), "x.yaml: line 1: an anchor (&name)");
  EXPECT_THAT(Refusal("b: *x\n"), ::testing::HasSubstr("x.yaml: line 1: "));
  // The classic bomb: ten lines that stand for a billion values.
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'j'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i)
      bomb += std::string(i == 0 ? "*" : ", *") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(Refusal(bomb), "x.yaml: line 1: an anchor (&name)");
  EXPECT_THAT(Refusal(std::string(40, '[') + std::string(40, ']')),
              ::testing::HasSubstr("nested too deep"));
  EXPECT_THAT(Refusal(std::string(100'000, '[')), ::testing::HasSubstr("x.yaml: line "));
  EXPECT_THAT(Refusal(std::string(2 << 20, 'a')), ::testing::HasSubstr("longer than"));
  YamlLimits few;
  few.max_nodes = 3;
  EXPECT_THAT(Refusal("[1, 2, 3]", few), ::testing::HasSubstr("too many values"));
}

TEST(YamlReader, RefusesWhatIsMeantOtherwise) {
  EXPECT_EQ(Refusal("a: 1\nb: 2\na: 3\n"), "x.yaml: line 3: \"a\" is given twice");
  EXPECT_EQ(Refusal("a: 1\n---\nb: 2\n"), "x.yaml: line 3: a second document");
  EXPECT_EQ(Refusal("? [a]\n: 1\n"), "x.yaml: line 1: a key that is not a text");
  EXPECT_THAT(Refusal("a: [1, 2\nb: 3\n"), ::testing::HasSubstr("x.yaml: line "));
}

TEST(YamlReader, EndsWhereTheParserWouldNotReadOn) {
  // Found by the fuzzer: the parser answered one empty document after the other, for ever.
  EXPECT_THAT(Refusal(std::string(
                  "!: ,a:\x98\xff\xff\xff\n: {b: [c, {d {d: \0P]}\n--:- | e}]}\n--- |\x1a  x [1]\n"
                  "b:\0*\x1a  x \0\0\0\"b*:x\0x\n\n",
                  80)),
              ::testing::HasSubstr("x.yaml: line "));
}

TEST(YamlReader, GivesSeveralDocumentsWhereTheyAreWanted) {
  const auto read = ReadYamlDocuments("---\na: 1\n---\n---\nb: \"2\"\n", "x.yaml");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_TRUE((*read)[0].Get("a")->plain);
  EXPECT_FALSE((*read)[1].Get("b")->plain);
  EXPECT_EQ((*read)[1].Get("b")->line, 5);
}

}  // namespace
}  // namespace wf::lang
