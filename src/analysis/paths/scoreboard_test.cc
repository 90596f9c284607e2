#include "analysis/paths/scoreboard.h"

#include <gtest/gtest.h>

namespace wf::paths {
namespace {

// A skew window puts every delay below zero into the first bin. If smoothing left it standing, it would win over the peak
// of the true delays, which is spread.
TEST(WeightedDelays, TheFirstBinIsSpreadAsMuchAsAnyOther) {
  WeightedDelays histogram;
  histogram.Add(0, 1);
  histogram.Add(200, 1);
  histogram.Add(DelayBins::kCount - 1, 1);
  histogram.Smooth(4);
  EXPECT_DOUBLE_EQ(histogram.Smoothed(0), histogram.Smoothed(200));
  EXPECT_DOUBLE_EQ(histogram.Smoothed(3), histogram.Smoothed(203));
  EXPECT_DOUBLE_EQ(histogram.Smoothed(DelayBins::kCount - 1), histogram.Smoothed(200));
  EXPECT_LT(histogram.Smoothed(0), 0.11);
}

}  // namespace
}  // namespace wf::paths
