#include "advice/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "advice/expression.h"

namespace wf::advice {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

Value I(int64_t value) { return value; }
Value D(double value) { return value; }
Value S(const char* text) { return std::string(text); }

bool Is(const Value& a, const Value& b) { return Identical(a, b); }

TEST(Value, IntegersOverflowToDoubles) {
  EXPECT_TRUE(Is(Add(I(2), I(3)), I(5)));
  EXPECT_TRUE(Is(Add(I(kMost), I(1)), D(9223372036854775808.0)));
  EXPECT_TRUE(Is(Subtract(I(kLeast), I(1)), D(-9223372036854775808.0)));
  EXPECT_TRUE(Is(Multiply(I(kMost), I(2)), D(18446744073709551616.0)));
  EXPECT_TRUE(Is(Negate(I(kLeast)), D(9223372036854775808.0)));
  EXPECT_TRUE(Is(Negate(I(7)), I(-7)));
}

TEST(Value, DivisionGivesDoublesAndNullByZero) {
  EXPECT_TRUE(Is(Divide(I(6), I(3)), D(2)));
  EXPECT_TRUE(Divide(I(6), I(0)).null());
  EXPECT_TRUE(Divide(D(6), D(0)).null());
  EXPECT_TRUE(Divide(D(1e308), D(1e-10)).null());  // not finite
}

TEST(Value, ArithmeticOnOtherThingsIsNull) {
  EXPECT_TRUE(Add(S("1"), I(1)).null());
  EXPECT_TRUE(Add(Value(), I(1)).null());
  EXPECT_TRUE(Multiply(Value(true), I(1)).null());
  EXPECT_TRUE(Negate(S("x")).null());
  EXPECT_TRUE(Add(D(1.7e308), D(1.7e308)).null());
}

TEST(Value, ComparisonsAreFalseUnlessLikeIsComparedWithLike) {
  EXPECT_TRUE(Holds(Comparison::kEqual, I(1), D(1.0)));
  EXPECT_FALSE(Holds(Comparison::kNotEqual, Value(), I(1)));
  EXPECT_FALSE(Holds(Comparison::kEqual, Value(), Value()));
  EXPECT_FALSE(Holds(Comparison::kNotEqual, S("1"), I(1)));
  EXPECT_TRUE(Holds(Comparison::kLess, S("B"), S("a")));
  EXPECT_TRUE(Holds(Comparison::kNotEqual, Value(true), Value(false)));
  EXPECT_FALSE(Holds(Comparison::kLess, Value(false), Value(true)));
  EXPECT_FALSE(Holds(Comparison::kEqual, Value(List{I(1)}), Value(List{I(1)})));
}

TEST(Value, IntegersAndDoublesCompareExactly) {
  // As doubles these two would be equal.
  EXPECT_TRUE(Holds(Comparison::kGreater, I((int64_t{1} << 53) + 1), D(9007199254740992.0)));
  EXPECT_TRUE(Holds(Comparison::kLess, I(kMost), D(9223372036854775808.0)));
  EXPECT_TRUE(Holds(Comparison::kEqual, I(kLeast), D(-9223372036854775808.0)));
  EXPECT_TRUE(Holds(Comparison::kLess, I(-1), D(-0.5)));
  EXPECT_TRUE(Holds(Comparison::kGreater, I(0), D(-0.5)));
}

TEST(Value, OrderOfRows) {
  const Value ascending[] = {Value(), Value(false),      Value(true),      D(-1.5),     I(2), S(""),
                             S("a"),  Value(List{I(1)}), List{I(1), I(0)}, List{S("a")}};
  for (size_t i = 0; i < std::size(ascending); ++i) {
    for (size_t j = 0; j < std::size(ascending); ++j) {
      const int order = Compare(ascending[i], ascending[j]);
      EXPECT_EQ(order < 0, i < j) << i << " " << j;
      EXPECT_EQ(order == 0, i == j) << i << " " << j;
    }
  }
}

TEST(Value, OneAndOnePointZeroAreOneKeyButNotIdentical) {
  EXPECT_TRUE(SameKey(I(1), D(1)));
  EXPECT_EQ(HashKey(I(1)), HashKey(D(1)));
  EXPECT_EQ(HashKey(D(0.0)), HashKey(D(-0.0)));
  EXPECT_FALSE(Identical(I(1), D(1)));
  EXPECT_TRUE(Identical(ShownKey(D(1), I(1)), I(1)));
  EXPECT_TRUE(Identical(ShownKey(I(1), D(1)), I(1)));
  EXPECT_EQ(HashKey(List{I(1)}), HashKey(List{D(1)}));
}

Value Call(Op op, std::vector<Value> operands) {
  Expression expression;
  for (size_t i = 0; i < operands.size(); ++i)
    expression.code.push_back({Op::kColumn, static_cast<uint32_t>(i)});
  expression.code.push_back({op, 0});
  EXPECT_TRUE(Valid(expression, operands.size()));
  return Evaluate(expression, operands);
}

TEST(Expression, Functions) {
  EXPECT_TRUE(Is(Call(Op::kLower, {S("AbÄ")}), S("abÄ")));
  EXPECT_TRUE(Is(Call(Op::kUpper, {S("abc1")}), S("ABC1")));
  EXPECT_TRUE(Is(Call(Op::kLength, {S("ä")}), I(2)));
  EXPECT_TRUE(Call(Op::kLength, {I(2)}).null());
  EXPECT_TRUE(Is(Call(Op::kContains, {S("abc"), S("bc")}), true));
  EXPECT_TRUE(Is(Call(Op::kStartsWith, {S("abc"), S("bc")}), false));
  EXPECT_TRUE(Is(Call(Op::kStartsWith, {S("a"), S("abc")}), false));
  EXPECT_TRUE(Is(Call(Op::kEndsWith, {S("abc"), S("bc")}), true));
  EXPECT_TRUE(Is(Call(Op::kEndsWith, {S("c"), S("bc")}), false));
  EXPECT_TRUE(Call(Op::kEndsWith, {S("c"), I(1)}).null());
  EXPECT_TRUE(Is(Call(Op::kHas, {Value()}), false));
  EXPECT_TRUE(Is(Call(Op::kHas, {Value(false)}), true));
  EXPECT_TRUE(Is(Call(Op::kSize, {Value()}), int64_t{1}));
  EXPECT_TRUE(Is(Call(Op::kSize, {Value(std::string("data-node"))}), int64_t{10}));
}

TEST(Expression, BucketRoundsDown) {
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(17), I(5)}), I(15)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(-1), I(5)}), I(-5)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(-5), I(5)}), I(-5)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(17), I(-5)}), I(15)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {D(1.75), D(0.5)}), D(1.5)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {D(-1.75), D(-0.5)}), D(-2.0)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(kLeast), I(-1)}), I(kLeast)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(kLeast), I(kLeast)}), I(kLeast)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(-1), I(kLeast)}), I(kLeast)));
  EXPECT_TRUE(Is(Call(Op::kBucket, {I(kLeast), I(kMost)}), D(-18446744073709551616.0)));
  EXPECT_TRUE(Call(Op::kBucket, {I(17), I(0)}).null());
  EXPECT_TRUE(Call(Op::kBucket, {S("x"), I(1)}).null());
}

TEST(Expression, LogicIsTwoValued) {
  EXPECT_TRUE(Is(Call(Op::kNot, {Value()}), true));
  EXPECT_TRUE(Is(Call(Op::kNot, {I(1)}), true));
  EXPECT_TRUE(Is(Call(Op::kOr, {Value(), Value(true)}), true));
  EXPECT_TRUE(Is(Call(Op::kAnd, {Value(true), I(1)}), false));
}

TEST(Expression, ValidRefusesWhatWouldNotRun) {
  EXPECT_FALSE(Valid(Expression(), 1));
  EXPECT_FALSE(Valid(Column(1), 1));
  EXPECT_FALSE(Valid(Expression{{{Op::kAdd, 0}}, {}}, 1));
  EXPECT_FALSE(Valid(Expression{{{Op::kColumn, 0}, {Op::kColumn, 0}}, {}}, 1));
  EXPECT_FALSE(Valid(Expression{{{Op::kConstant, 0}}, {}}, 1));
  EXPECT_FALSE(Valid(Expression{{{static_cast<Op>(99), 0}}, {}}, 1));
  Expression deep;
  for (size_t i = 0; i <= kMaxExpressionDepth; ++i) deep.code.push_back({Op::kColumn, 0});
  for (size_t i = 0; i < kMaxExpressionDepth; ++i) deep.code.push_back({Op::kAdd, 0});
  EXPECT_FALSE(Valid(deep, 1));
  deep.code.erase(deep.code.begin());
  deep.code.pop_back();
  EXPECT_TRUE(Valid(deep, 1));
  EXPECT_TRUE(Is(Evaluate(deep, Tuple{I(1)}), I(kMaxExpressionDepth)));
}

TEST(Expression, EvaluatingWhatIsNotValidIsNull) {
  EXPECT_TRUE(Evaluate(Column(3), Tuple{I(1)}).null());
  EXPECT_TRUE(Evaluate(Expression{{{Op::kAdd, 0}}, {}}, Tuple{I(1)}).null());
  Expression tall;
  for (size_t i = 0; i < 200; ++i) tall.code.push_back({Op::kColumn, 0});
  EXPECT_TRUE(Evaluate(tall, Tuple{I(1)}).null());
  tall.code.resize(6);
  EXPECT_TRUE(Evaluate(tall, Tuple{I(1)}).null());
}

}  // namespace
}  // namespace wf::advice
