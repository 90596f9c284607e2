#include "analysis/paths/delay_histogram.h"

#include <gtest/gtest.h>

namespace wf::paths {
namespace {

TEST(DelayHistogram, EveryDelayIsInABinAroundIt) {
  DelayHistogram histogram;
  EXPECT_TRUE(histogram.Bins().empty());
  for (const Nanos delay : {50 * kMilli, 10 * kMilli, 50 * kMilli, 2 * kSecond})
    histogram.Add(delay);
  const auto bins = histogram.Bins();
  ASSERT_EQ(bins.size(), 3u);
  const Nanos expected[] = {10 * kMilli, 50 * kMilli, 2 * kSecond};
  const uint32_t counts[] = {1, 2, 1};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(bins[i].from_ns, expected[i]);
    EXPECT_GT(bins[i].until_ns, expected[i]);
    EXPECT_LE(bins[i].until_ns - bins[i].from_ns, expected[i] / 19);
    EXPECT_EQ(bins[i].count, counts[i]);
  }
}

TEST(DelayHistogram, WhatIsTooShortOrBelowZeroIsInTheFirstBin) {
  DelayHistogram histogram;
  for (const Nanos delay : {Nanos{-5}, Nanos{0}, Nanos{1000}}) histogram.Add(delay);
  const auto bins = histogram.Bins();
  ASSERT_EQ(bins.size(), 1u);
  EXPECT_EQ(bins[0].from_ns, 0);
  EXPECT_EQ(bins[0].count, 3u);
}

}  // namespace
}  // namespace wf::paths
