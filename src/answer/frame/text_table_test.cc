#include "answer/frame/text_table.h"

#include <gtest/gtest.h>

namespace wf::answer {
namespace {

TEST(TextTable, NumbersAreRightAligned) {
  TextTable table({"what", "n"}, {1});
  table.Row({"a", "7"});
  table.Row({"long name", "123"});
  EXPECT_EQ(table.Print(80, 0), "what         n\na            7\nlong name  123\n");
}

TEST(TextTable, TheElasticColumnGivesWay) {
  TextTable table({"what", "n"}, {1});
  table.Row({"a very long name of something", "1"});
  for (const std::string& text = table.Print(16, 0); size_t at : {size_t{0}}) {
    EXPECT_NE(text.find("…", at), std::string::npos) << text;
    EXPECT_LE(DisplayWidth(text.substr(0, text.find('\n'))), 16u);
  }
}

TEST(TextTable, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(DisplayWidth("µs"), 2u);
  EXPECT_EQ(CutToWidth("日本語テキスト", 4), "日本語…");
  EXPECT_EQ(CutToWidth("short", 10), "short");
}

}  // namespace
}  // namespace wf::answer
