#include "base/nanos.h"

#include <gtest/gtest.h>

namespace wf {
namespace {

TEST(Nanos, Durations) {
  EXPECT_EQ(*ParseDuration("90s"), 90 * kSecond);
  EXPECT_EQ(*ParseDuration("1.5ms"), 1'500'000);
  EXPECT_EQ(*ParseDuration("250us"), 250'000);
  EXPECT_EQ(*ParseDuration("7d"), 7 * kDay);
  EXPECT_EQ(*ParseDuration("0ns"), 0);
  for (const char* bad :
       {"", "s", "10", "10 s", "1e3s", "-5s", "1..2s", "99999999999999999999s", "9999999999d"}) {
    EXPECT_FALSE(ParseDuration(bad).ok()) << bad;
  }
}

TEST(Nanos, Instants) {
  const Nanos now = 1'000 * kDay;
  EXPECT_EQ(*ParseInstant("15m", now), now - 15 * kMinute);
  EXPECT_EQ(*ParseInstant("1700000000000000001", now), 1700000000000000001);
  EXPECT_EQ(*ParseInstant("-5", now), -5);
  EXPECT_EQ(*ParseInstant("1970-01-02T00:00:00Z", now), kDay);
  EXPECT_EQ(*ParseInstant("1970-01-01T01:00:00.25+01:00", now), kSecond / 4);
  EXPECT_EQ(*ParseInstant("1969-12-31T23:59:59Z", now), -kSecond);
  for (const char* bad :
       {"", "yesterday", "1970-13-01T00:00:00Z", "1970-01-01T00:00:00", "99999999999999999999"}) {
    EXPECT_FALSE(ParseInstant(bad, now).ok()) << bad;
  }
}

TEST(Nanos, InstantsPrintAsTheyParse) {
  for (Nanos t : {Nanos{0}, Nanos{1763204290250000001}, Nanos{-1}}) {
    EXPECT_EQ(*ParseInstant(FormatInstant(t), 0), t) << FormatInstant(t);
  }
}

TEST(Nanos, DurationsReadWell) {
  EXPECT_EQ(FormatDuration(12), "12 ns");
  EXPECT_EQ(FormatDuration(310'000), "310 µs");
  EXPECT_EQ(FormatDuration(1'240'000'000), "1.24 s");
  EXPECT_EQ(FormatDuration(999'600), "1.00 ms");
  EXPECT_EQ(FormatDuration(125 * kSecond), "2 min 5 s");
}

TEST(Nanos, ArithmeticSaturates) {
  EXPECT_EQ(SaturatingAdd(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(SaturatingSub(INT64_MIN, 1), INT64_MIN);
  EXPECT_EQ(SaturatingSub(0, INT64_MIN), INT64_MAX);
}

}  // namespace
}  // namespace wf
