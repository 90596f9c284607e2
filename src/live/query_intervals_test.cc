#include "live/query_intervals.h"

#include <gtest/gtest.h>

#include "live/live_query_lab_test.h"

namespace wf::live {
namespace {

using live_testing::Compiled;
using live_testing::Partial;

constexpr char kByHost[] = "From x In t GroupBy x.host Select x.host, COUNT";
constexpr Nanos kStart = 1'000 * kSecond;

std::string Text(const std::vector<ClosedInterval>& closed) {
  std::string out;
  for (const ClosedInterval& one : closed) {
    out += std::to_string((one.start_ns - kStart) / kMilli) + ":";
    for (const advice::Tuple& row : one.rows)
      out += std::get<std::string>(row[0]) + "=" + std::to_string(std::get<int64_t>(row[1])) + ",";
    if (one.lost != 0) out += "lost " + std::to_string(one.lost);
    out += " ";
  }
  return out;
}

TEST(QueryIntervals, StartsAreMultiplesSinceTheEpoch) {
  EXPECT_EQ(IntervalStart(1'999, 1'000), 1'000);
  EXPECT_EQ(IntervalStart(2'000, 1'000), 2'000);
  EXPECT_EQ(IntervalStart(-1, 1'000), -1'000);
}

TEST(QueryIntervals, PartsOfOneIntervalAreOneObject) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart + 10);
  using Taken = QueryIntervals::Taken;
  const std::string a = Partial(*program, "a", 3), b = Partial(*program, "b", 1);
  EXPECT_EQ(intervals.Add({kStart, a, 2}), Taken::kInTime);
  EXPECT_EQ(intervals.Add({kStart, a, 0}), Taken::kInTime);
  EXPECT_EQ(intervals.Add({kStart, b, 0}), Taken::kInTime);
  EXPECT_EQ(Text(intervals.Close(kStart + 2 * kSecond - 1)), "") << "one interval is waited";
  EXPECT_EQ(Text(intervals.Close(kStart + 2 * kSecond)), "0:a=6,b=1,lost 2 ");
}

TEST(QueryIntervals, EveryIntervalGivesOneEvenIfNothingHappened) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart);
  (void)intervals.Add({kStart + kSecond, Partial(*program, "a", 1), 0});
  EXPECT_EQ(Text(intervals.Close(kStart + 4 * kSecond)), "0: 1000:a=1, 2000: ");
  EXPECT_EQ(Text(intervals.Close(kStart + 4 * kSecond)), "");
}

TEST(QueryIntervals, ALatePartIsAnObjectOfItsOwnInterval) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart);
  (void)intervals.Add({kStart, Partial(*program, "a", 1), 0});
  EXPECT_EQ(Text(intervals.Close(kStart + 2 * kSecond)), "0:a=1, ");
  EXPECT_EQ(intervals.Add({kStart, Partial(*program, "a", 5), 0}), QueryIntervals::Taken::kLate);
  EXPECT_TRUE(intervals.has_late());
  EXPECT_EQ(Text(intervals.Close(kStart + 2 * kSecond)), "0:a=5, ");
  EXPECT_FALSE(intervals.has_late());
}

TEST(QueryIntervals, AllOfItAtTheEnd) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart);
  (void)intervals.Add({kStart, Partial(*program, "a", 1), 0});
  (void)intervals.Add({kStart + kSecond, Partial(*program, "a", 2), 0});
  (void)intervals.Add({kStart + 9 * kSecond, Partial(*program, "b", 4), 0});  // its clock is ahead
  EXPECT_EQ(Text(intervals.CloseAll(kStart + kSecond + 5)), "0:a=1, 1000:a=2, 9000:b=4, ");
}

TEST(QueryIntervals, WhatIsNotOfThisQueryIsRefused) {
  const auto program = Compiled(kByHost), other = Compiled("From x In t Select SUM(x.n)", 8);
  QueryIntervals intervals(program, kSecond, kStart);
  EXPECT_EQ(intervals.Add({kStart, "garbage", 0}), QueryIntervals::Taken::kOtherShape);
  EXPECT_EQ(intervals.Add({kStart, Partial(*other, "a", 1), 0}),
            QueryIntervals::Taken::kOtherShape);
  EXPECT_EQ(Text(intervals.Close(kStart + 2 * kSecond)), "0: ");
}

TEST(QueryIntervals, ClocksFarAheadAreBounded) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart);
  const std::string part = Partial(*program, "a", 1);
  auto taken = QueryIntervals::Taken::kInTime;
  for (int i = 0; i <= 1'000; ++i) taken = intervals.Add({kStart + i * kSecond, part, 0});
  EXPECT_EQ(taken, QueryIntervals::Taken::kTooMany);
}

TEST(QueryIntervals, ALongPauseIsNotShownIntervalByInterval) {
  const auto program = Compiled(kByHost);
  QueryIntervals intervals(program, kSecond, kStart);
  EXPECT_LT(intervals.Close(kStart + 100'000 * kSecond).size(), 1'000u);
  (void)intervals.Add({kStart + 100'000 * kSecond, Partial(*program, "a", 1), 0});
  EXPECT_NE(Text(intervals.Close(kStart + 100'003 * kSecond)).find("a=1"), std::string::npos);
}

}  // namespace
}  // namespace wf::live
