#include "advice/aggregate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_set>

namespace wf::advice {
namespace {

constexpr AggregateKind kKinds[] = {AggregateKind::kCount,    AggregateKind::kSum,
                                    AggregateKind::kMin,      AggregateKind::kMax,
                                    AggregateKind::kAverage,  AggregateKind::kPercentile,
                                    AggregateKind::kDistinct, AggregateKind::kHistogram};

Value Finished(AggregateKind kind, const std::vector<Value>& values, double parameter = 0) {
  AggregateState state(kind);
  for (const Value& value : values) state.Add(value, 1);
  return state.Finish({kind, parameter});
}

int64_t Int(const Value& value) { return std::get<int64_t>(value); }
double Real(const Value& value) {
  return value.index() == 2 ? static_cast<double>(Int(value)) : std::get<double>(value);
}

std::vector<Value> Integers(int64_t from, int64_t to) {
  std::vector<Value> values;
  for (int64_t i = from; i <= to; ++i) values.emplace_back(i);
  return values;
}

TEST(Aggregate, NothingLeftIsNullButCountsAreZero) {
  for (const AggregateKind kind : kKinds) {
    const Value value = Finished(kind, {Value(), Value()}, 50);
    const bool counts = kind == AggregateKind::kCount || kind == AggregateKind::kDistinct;
    EXPECT_TRUE(counts ? Identical(value, int64_t{0}) : value.null()) << static_cast<int>(kind);
  }
}

TEST(Aggregate, NumericOnesSkipWhatIsNoNumber) {
  const std::vector<Value> values = {std::string("7"), int64_t{2}, true,
                                     Value(),          0.5,        std::nan("")};
  EXPECT_EQ(Int(Finished(AggregateKind::kCount, values)), 5);
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, values)), 2.5);
  EXPECT_EQ(Real(Finished(AggregateKind::kMin, values)), 0.5);
  EXPECT_EQ(Int(Finished(AggregateKind::kMax, values)), 2);
  EXPECT_EQ(Real(Finished(AggregateKind::kAverage, values)), 1.25);
  EXPECT_EQ(Real(Finished(AggregateKind::kPercentile, values, 100)), 2);
}

TEST(Aggregate, SumIsExact) {
  const int64_t most = INT64_MAX;
  EXPECT_EQ(Int(Finished(AggregateKind::kSum, {most, most, -most, int64_t{5}, -most})), 5);
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, {most, most})), 18446744073709551616.0);
  // A running double would have lost the 1.
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, {1e300, 1.0, -1e300})), 1.0);
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, {1e300, int64_t{1}, -1e300})), 1.0);
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, std::vector<Value>(10, 0.1))), 1.0);
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, {5e-324, 5e-324})), 1e-323);
  EXPECT_TRUE(Finished(AggregateKind::kSum, {1.7e308, 1.7e308}).null());
  EXPECT_EQ(Real(Finished(AggregateKind::kSum, {1.7e308, 1.7e308, -1.7e308})), 1.7e308);
  AggregateState weighted(AggregateKind::kSum);
  weighted.Add(0.1, 1'000'000'007);
  EXPECT_EQ(Real(weighted.Finish({})), 100000000.7);
}

// long double has 64 bits of mantissa: the sum of two doubles of like size is exact in it.
TEST(Aggregate, SumOfTwoDoublesRoundsOnce) {
  EXPECT_TRUE(rc::check([](int32_t a, int32_t b, uint8_t shift) {
    const double x = std::ldexp(a, shift % 16), y = std::ldexp(b, -(shift / 16));
    const double expected = static_cast<double>(static_cast<long double>(x) + y);
    RC_ASSERT(Real(Finished(AggregateKind::kSum, {x, y})) == expected);
  }));
}

TEST(Aggregate, MinAndMaxShowTheIntegerOfEqualOnes) {
  for (const AggregateKind kind : {AggregateKind::kMin, AggregateKind::kMax}) {
    EXPECT_TRUE(Identical(Finished(kind, {1.0, int64_t{1}}), int64_t{1}));
    EXPECT_TRUE(Identical(Finished(kind, {int64_t{1}, 1.0}), int64_t{1}));
  }
}

TEST(Aggregate, PercentileIsNearestRank) {
  const std::vector<Value> values = Integers(1, 100);
  EXPECT_EQ(Int(Finished(AggregateKind::kPercentile, values, 50)), 50);
  EXPECT_EQ(Int(Finished(AggregateKind::kPercentile, values, 0)), 1);
  EXPECT_EQ(Int(Finished(AggregateKind::kPercentile, values, 100)), 100);
  EXPECT_EQ(Int(Finished(AggregateKind::kPercentile, values, 99.1)), 100);
  EXPECT_EQ(Int(Finished(AggregateKind::kPercentile,
                         {int64_t{15}, int64_t{20}, int64_t{35}, int64_t{40}, int64_t{50}}, 30)),
            20);
}

TEST(Aggregate, PercentileOfManyIsWithinOnePercent) {
  std::mt19937_64 random(7);
  for (const double scale : {1e-3, 1.0, 1e9}) {
    std::vector<double> numbers;
    AggregateState state(AggregateKind::kPercentile);
    for (int i = 0; i < 20'000; ++i) {
      const double number = scale * std::exp(std::normal_distribution<>(0, 2)(random)) *
                            (random() % 3 == 0 ? -1 : 1) * (random() % 10 == 0 ? 0 : 1);
      numbers.push_back(number);
      state.Add(number, 1);
    }
    std::sort(numbers.begin(), numbers.end());
    for (const double p : {0.0, 1.0, 10.0, 33.0, 37.0, 50.0, 90.0, 99.0, 99.9, 100.0}) {
      const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(p * 20'000 / 100)));
      const double exact = numbers[rank - 1];
      EXPECT_NEAR(Real(state.Finish({AggregateKind::kPercentile, p})), exact,
                  0.01 * std::fabs(exact))
          << p;
    }
  }
}

TEST(Aggregate, PercentileOfManySmallIntegersIsExact) {
  AggregateState state(AggregateKind::kPercentile);
  for (const Value& value : Integers(-255, 255)) state.Add(value, 3);
  for (int64_t i = -255; i <= 255; ++i) {
    // The middle of its rank, so that no rounding of p matters.
    const double p = 100.0 * (static_cast<double>(i + 256) - 0.5) / 511;
    EXPECT_TRUE(Identical(state.Finish({AggregateKind::kPercentile, p}), i)) << i;
  }
  state.Add(INT64_MAX, 1);
  EXPECT_NEAR(Real(state.Finish({AggregateKind::kPercentile, 100})), 9.223372e18, 9e16);
}

TEST(Aggregate, DistinctIsExactToAThousandAndThenWithinTwoPercent) {
  AggregateState state(AggregateKind::kDistinct);
  int64_t next = 0;
  for (const int64_t target : {1'000, 1'001, 2'000, 10'000, 65'536, 200'000, 400'000, 2'000'000}) {
    for (; next < target; ++next) {
      state.Add(std::string("value ") + std::to_string(next), 1);
      if (next % 7 == 0) state.Add(std::string("value 0"), 5);
    }
    const double estimate = Real(state.Finish({}));
    if (target == 1'000) {
      EXPECT_EQ(estimate, 1'000);
    }
    EXPECT_NEAR(estimate, static_cast<double>(target), 0.02 * static_cast<double>(target));
  }
  EXPECT_EQ(Int(Finished(AggregateKind::kDistinct, {int64_t{1}, 1.0, std::string("1"), true})), 3);
}

TEST(Aggregate, Histogram) {
  const Value list = Finished(AggregateKind::kHistogram,
                              {int64_t{-3}, -0.5, int64_t{0}, 0.99, int64_t{1}, 1.5, int64_t{2},
                               int64_t{3}, int64_t{4}, INT64_MAX, 1e30, -0.0});
  const List expected = {List{Value(), int64_t{2}},          List{int64_t{0}, int64_t{3}},
                         List{int64_t{1}, int64_t{2}},       List{int64_t{2}, int64_t{2}},
                         List{int64_t{4}, int64_t{1}},       List{int64_t{1} << 62, int64_t{1}},
                         List{std::ldexp(1, 99), int64_t{1}}};
  EXPECT_TRUE(Identical(list, expected));
}

TEST(Aggregate, AddSumIsAsIfTheNumbersHadBeenAdded) {
  AggregateState average(AggregateKind::kAverage), sum(AggregateKind::kSum),
      count(AggregateKind::kCount);
  for (AggregateState* state : {&average, &sum, &count}) {
    state->AddSum(10, 4);
    state->AddSum(99, 0);
  }
  EXPECT_EQ(Real(average.Finish({})), 2.5);
  EXPECT_EQ(Int(sum.Finish({})), 10);
  EXPECT_EQ(Int(count.Finish({})), 4);
}

Value AnyValue() {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return Value();
    case 1:
      return *rc::gen::arbitrary<bool>();
    case 2:
    case 3:
      return *rc::gen::inRange<int64_t>(-20, 20);
    case 4:
      return *rc::gen::arbitrary<int64_t>();
    case 5:
      return std::ldexp(*rc::gen::arbitrary<int32_t>(), *rc::gen::inRange(-1000, 900));
    case 6:
      return *rc::gen::inRange(-20, 20) / 4.0;
    default:
      return *rc::gen::arbitrary<std::string>();
  }
}

std::string Bytes(const AggregateState& state) {
  std::string bytes;
  state.Encode(bytes);
  return bytes;
}

// Added in another order, split into parts, encoded on the way, merged as a tree: the same state, to the byte.
TEST(Aggregate, TheOrderOfMergingMakesNoDifference) {
  EXPECT_TRUE(rc::check([] {
    const AggregateKind kind =
        *rc::gen::map(rc::gen::inRange(0, 8), [](int i) { return kKinds[i]; });
    std::vector<std::pair<Value, uint64_t>> values;
    const int size = *rc::gen::weightedElement<int>({{10, 12}, {1, 400}});
    for (int i = 0; i < size; ++i)
      values.emplace_back(AnyValue(), *rc::gen::inRange<uint64_t>(0, 5));
    AggregateState once(kind);
    for (const auto& [value, weight] : values) once.Add(value, weight);

    std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
    std::shuffle(values.begin(), values.end(), random);
    std::vector<AggregateState> parts(3, AggregateState(kind));
    for (const auto& [value, weight] : values) parts[random() % 3].Add(value, weight);
    AggregateState merged(kind);
    for (const AggregateState& part : parts) {
      const std::string bytes = Bytes(part);
      std::string_view left = bytes;
      AggregateState read(kind);
      RC_ASSERT(AggregateState::Decode(kind, left, read));
      RC_ASSERT(left.empty());
      merged.Merge(read, 1);
    }
    RC_ASSERT(Bytes(merged) == Bytes(once));
    const double p = *rc::gen::inRange(0, 101);
    RC_ASSERT(Identical(merged.Finish({kind, p}), once.Finish({kind, p})));
  }));
}

// What a slot carries is merged with the weight of everything else in the tuple.
TEST(Aggregate, MergingWithAWeightIsAddingThatOften) {
  EXPECT_TRUE(rc::check([] {
    const AggregateKind kind =
        *rc::gen::map(rc::gen::inRange(0, 8), [](int i) { return kKinds[i]; });
    const auto weight = *rc::gen::inRange<uint64_t>(0, 6);
    AggregateState part(kind), often(kind), merged(kind);
    for (int i = 0; i < 10; ++i) {
      const Value value = AnyValue();
      part.Add(value, 2);
      often.Add(value, 2 * weight);
    }
    merged.Merge(part, weight);
    RC_ASSERT(Bytes(merged) == Bytes(often));
  }));
}

// Weights of weights, as only a hostile branch sends them, wrap around; the least number is its own negation.
TEST(Aggregate, ASumThatReachesItsSignReadsBack) {
  AggregateState state(AggregateKind::kSum);
  state.Add(std::ldexp(1.0, 1023), uint64_t{1} << 63);
  for (const int shift : {63, 63, 17}) {
    AggregateState product(AggregateKind::kSum);
    product.Merge(state, uint64_t{1} << shift);
    state = product;
  }
  const std::string bytes = Bytes(state);
  std::string_view left = bytes;
  AggregateState again(AggregateKind::kSum);
  ASSERT_TRUE(AggregateState::Decode(AggregateKind::kSum, left, again));
  EXPECT_EQ(Bytes(again), bytes);
}

TEST(Aggregate, CutOrChangedBytesAreRefusedOrHarmless) {
  for (const AggregateKind kind : kKinds) {
    AggregateState state(kind);
    for (int i = -3; i < 300; ++i) state.Add(i + 0.25, 2);
    for (int i = 0; i < 1'500; ++i) state.Add(int64_t{i}, 1);
    const std::string bytes = Bytes(state);
    for (size_t size = 0; size < bytes.size(); size += 1 + size / 8) {
      std::string_view cut = std::string_view(bytes).substr(0, size);
      AggregateState read(kind);
      EXPECT_FALSE(AggregateState::Decode(kind, cut, read))
          << static_cast<int>(kind) << " " << size;
    }
  }
}

}  // namespace
}  // namespace wf::advice
