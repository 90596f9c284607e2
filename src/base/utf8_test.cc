#include "base/utf8.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

TEST(Utf8, WellFormed) {
  for (const char* text : {"", "ascii text longer than eight", "µs", "日本語", "😀"})
    EXPECT_TRUE(IsUtf8(text)) << text;
}

TEST(Utf8, MalformedIsFoundAndRepaired) {
  for (std::string_view text :
       {"\xFF", "ok ok ok ok\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(IsUtf8(text));
    EXPECT_TRUE(IsUtf8(RepairUtf8(text)));
  }
  EXPECT_EQ(RepairUtf8("a\xFFz"), "a\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace wf
