#include "lang/ndlog/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace wf::ndlog {
namespace {

std::string Again(std::string_view text) {
  const auto tuple = ParseTuple(text);
  if (!tuple.ok()) return tuple.error().message;
  return TupleText(tuple->name, tuple->values, tuple->location);
}

TEST(NdlogTuple, TextAndBack) {
  EXPECT_EQ(Again("link(@a,b,5)"), "link(@a,b,5)");
  EXPECT_EQ(Again(" link ( @a , \"b\" , 5 ) "), "link(@a,b,5)");
  EXPECT_EQ(Again("path(@a,[a,b,[c,1.50]],-7,true)"), "path(@a,[a,b,[c,1.5]],-7,true)");
  EXPECT_EQ(Again("t(@\"10\",\"x y\",\"\",\"q\\\"\\n\",3.0)"),
            "t(@\"10\",\"x y\",\"\",\"q\\\"\\n\",3.0)");
  EXPECT_EQ(Again("t(x,@sw-1.lab,A)"), "t(x,@sw-1.lab,A)");
  EXPECT_EQ(Again("t(@a,[],infinity)"), "t(@a,[],infinity)");
  EXPECT_EQ(Again("t(@a)."), "t(@a)");
}

TEST(NdlogTuple, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(Again("t(@a"), "tuple t(@a: at character 5: , or ) is missing");
  EXPECT_EQ(Again("(@a)"), "tuple (@a): at character 1: a tuple starts with its name");
  EXPECT_EQ(Again("t(@a,)"), "tuple t(@a,): at character 6: a value is missing");
  EXPECT_EQ(Again("t(@a) b"), "tuple t(@a) b: at character 7: something stands behind the tuple");
  EXPECT_EQ(Again("t(@a,\"b)"), "tuple t(@a,\"b): at character 9: unclosed text");
}

TEST(NdlogValue, NumbersCompareAcrossKinds) {
  EXPECT_EQ(Value(int64_t{1}), Value(1.0));
  EXPECT_EQ(Value(int64_t{1}).Hash(), Value(1.0).Hash());
  EXPECT_LT(Value(1.5), Value(int64_t{2}));
  EXPECT_LT(Value(int64_t{9}), Value(std::string("1")));
  EXPECT_LT(Value(List{Value(int64_t{1})}), Value(List{Value(int64_t{1}), Value()}));
  EXPECT_FALSE(Value(true) == Value(int64_t{1}));
}

rc::Gen<Value> AnyValue(int depth) {
  const auto scalar = rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); }),
      rc::gen::map(rc::gen::arbitrary<int64_t>(), [](int64_t i) { return Value(i); }),
      rc::gen::map(rc::gen::inRange(-1000, 1000), [](int i) { return Value(i / 8.0); }),
      rc::gen::map(rc::gen::string<std::string>(), [](std::string s) {
        for (char& c : s)
          if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = ' ';
        return Value(std::move(s));
      }));
  if (depth == 0) return scalar;
  return rc::gen::oneOf(
      scalar, rc::gen::map(rc::gen::container<std::vector<Value>>(AnyValue(depth - 1)),
                           [](std::vector<Value> list) { return Value(std::move(list)); }));
}

RC_GTEST_PROP(NdlogTuple, WhatIsWrittenIsReadAsTheSame, ()) {
  const auto values =
      *rc::gen::scale(0.15, rc::gen::nonEmpty(rc::gen::container<std::vector<Value>>(AnyValue(2))));
  const std::string text = TupleText("t", values, 0);
  const auto again = ParseTuple(text);
  RC_ASSERT(again.ok());
  RC_ASSERT(again->values == values);
  RC_ASSERT(HashOf(again->values) == HashOf(values));
  RC_ASSERT(TupleText("t", again->values, again->location) == text);
}

}  // namespace
}  // namespace wf::ndlog
