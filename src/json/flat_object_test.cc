#include "json/flat_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(FlatObject, KeepsOrderAndTexts) {
  const auto members = ParseFlatObject(R"({"b":"x \"y\" \u00e9","a":200,"t":true,"d":1.5,"e":""})");
  ASSERT_TRUE(members.ok());
  EXPECT_THAT(*members, ElementsAre(Pair("b", "x \"y\" é"), Pair("a", "200"), Pair("t", "true"),
                                    Pair("d", "1.5"), Pair("e", "")));
  ASSERT_TRUE(ParseFlatObject("{}").ok());
  EXPECT_TRUE(ParseFlatObject("{}")->empty());
}

TEST(FlatObject, RefusesWhatIsNotFlat) {
  for (const char* text :
       {"", "[]", "\"a\"", "{\"a\":[1]}", "{\"a\":{}}", "{\"a\":null}", "{\"a\":1", "{} {}"}) {
    EXPECT_FALSE(ParseFlatObject(text).ok()) << text;
  }
  EXPECT_THAT(ParseFlatObject("{\"k\":[1]}").error().message, HasSubstr("\"k\""));
}

}  // namespace
}  // namespace wf
