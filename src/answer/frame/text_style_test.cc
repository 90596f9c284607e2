#include "answer/frame/text_style.h"

#include <gtest/gtest.h>

#include <thread>

#include "answer/frame/text_style_params.h"
#include "answer/frame/text_table.h"

namespace wf::answer {
namespace {

TEST(TextStyle, APipeGetsHundredPlainColumns) {
  EXPECT_EQ(TextWidth(), 100u);
  EXPECT_EQ(Painted(Paint::kError, "no such file\n"), "no such file\n");
}

TEST(TextStyle, AStyleHoldsInItsScopeAndThread) {
  {
    const ScopedTextStyle wide({180, TextColor::kAnsi});
    EXPECT_EQ(TextWidth(), 180u);
    {
      const ScopedTextStyle narrow({60, TextColor::kPlain});
      EXPECT_EQ(TextWidth(), 60u);
    }
    EXPECT_EQ(TextWidth(), 180u);
    size_t elsewhere = 0;
    std::thread([&] { elsewhere = TextWidth(); }).join();
    EXPECT_EQ(elsewhere, 100u);
  }
  EXPECT_EQ(TextWidth(), 100u);
}

TEST(TextStyle, EachLineIsPaintedByItself) {
  EXPECT_EQ(Painted(Paint::kError, "a\n\nb\n", TextColor::kAnsi),
            "\x1b[31ma\x1b[0m\n\n\x1b[31mb\x1b[0m\n");
}

TEST(TextStyle, TablesHaveBoldHeadsAndKeepTheirColumns) {
  TextTable table({"what", "n"}, {1});
  table.Row({"slow", "7"}, RowMark::kCulprit);
  table.Row({"a\x1b[31m", "8"});
  const std::string plain = "what    n\nslow    7\na?[31m  8\n";
  EXPECT_EQ(table.Print(TextWidth(), 0), plain);
  const ScopedTextStyle ansi({100, TextColor::kAnsi});
  EXPECT_EQ(table.Print(TextWidth(), 0),
            "\x1b[1mwhat    n\x1b[0m\n\x1b[33mslow    7\x1b[0m\na?[31m  8\n");
}

TEST(TextStyle, SentencesAreWrappedToTheTerminal) {
  const ScopedTextStyle narrow({40, TextColor::kPlain});
  EXPECT_EQ(Wrapped("one two three four five six seven eight nine ten"),
            "one two three four five six seven eight\nnine ten\n");
}

TEST(TextStyle, ParametersSayHowTextLooks) {
  Params params({{"format", "text"}, {"width", "180"}, {"color", "always"}});
  const auto style = TakeTextStyle(params);
  ASSERT_TRUE(style.ok());
  EXPECT_EQ(style->width, 180u);
  EXPECT_EQ(style->color, TextColor::kAnsi);
  EXPECT_TRUE(params.Check({"format"}).ok()) << "they are no flags of the question";
  for (const char* wrong : {"39", "501", "wide"}) {
    Params refused;
    refused.Add("width", wrong);
    EXPECT_FALSE(TakeTextStyle(refused).ok()) << wrong;
  }
  Params refused;
  refused.Add("color", "auto");
  EXPECT_FALSE(TakeTextStyle(refused).ok()) << "only the command line has a terminal";
}

}  // namespace
}  // namespace wf::answer
