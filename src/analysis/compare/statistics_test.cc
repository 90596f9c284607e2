// Expected values were computed by SciPy 1.17.1: mannwhitneyu(b, a, method="asymptotic"), chi2_contingency(
// correction=False), false_discovery_control, chi2.sf.
#include "analysis/compare/statistics.h"

#include <gtest/gtest.h>

namespace wf::compare {
namespace {

std::vector<double> Series(int n, int step, int modulus, int offset) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(i * step % modulus + offset);
  return out;
}
std::vector<double> ZerosAndOnes(int zeros, int ones) {
  std::vector<double> out(static_cast<size_t>(zeros), 0.0);
  out.insert(out.end(), static_cast<size_t>(ones), 1.0);
  return out;
}

TEST(Statistics, MannWhitneyAgreesWithSciPy) {
  struct Case {
    std::vector<double> a, b;
    double u, p, delta;
  };
  const Case cases[] = {
      {{1, 2, 3, 4, 5, 6, 7, 8}, {5, 6, 7, 8, 9, 10, 11, 12}, 56, 0.0133130027638167, 0.75},
      {{1, 1, 1, 2, 2, 3, 3, 3, 3},
       {2, 2, 3, 3, 3, 4, 4, 4, 4, 4},
       74,
       0.0153212786033492,
       0.644444444444444},
      {{0.5, 0.1, 0.9, 0.3}, {0.2, 0.8, 0.4, 0.6, 0.7}, 12, 0.713303173878458, 0.2},
      {std::vector<double>(10, 5.0), std::vector<double>(12, 5.0), 60, 1, 0},
      {Series(60, 7, 101, 0), Series(45, 13, 97, 5), 1443, 0.549172897666171, 0.068888888888889},
      {ZerosAndOnes(50, 5), ZerosAndOnes(30, 25), 2062.5, 2.0592980140163e-05, 0.363636363636364},
  };
  for (const Case& c : cases) {
    const TestResult result = MannWhitney(c.a, c.b);
    EXPECT_DOUBLE_EQ(result.statistic, c.u);
    EXPECT_NEAR(result.p, c.p, 1e-12 + 1e-10 * c.p) << c.u;
    EXPECT_NEAR(result.effect, c.delta, 1e-12) << c.u;
    // Swapped, the difference points the other way and is as likely.
    const TestResult swapped = MannWhitney(c.b, c.a);
    EXPECT_NEAR(swapped.effect, -c.delta, 1e-12);
    EXPECT_NEAR(swapped.p, result.p, 1e-12);
  }
}

TEST(Statistics, MannWhitneyOfNothingFindsNothing) {
  EXPECT_EQ(MannWhitney({}, {1, 2, 3}).p, 1);
  EXPECT_EQ(MannWhitney({1}, {}).effect, 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(MannWhitney({nan, nan}, {1, nan}).p, 1);
}

TEST(Statistics, ChiSquaredAgreesWithSciPy) {
  struct Case {
    std::vector<int64_t> a, b;
    double chi, p, v;
  };
  const Case cases[] = {
      {{10, 20, 30}, {20, 20, 20}, 5.33333333333333, 0.0694834512228015, 0.210818510677892},
      {{5, 0, 95}, {50, 0, 50}, 50.7836990595611, 1.03126649240264e-12, 0.503903259860269},
      {{100, 200, 300, 400},
       {110, 190, 310, 390},
       1.02311743731125,
       0.795658460111555,
       0.0226176638637952},
      {{1000, 5}, {900, 80}, 71.1360506496393, 3.33421758051249e-17, 0.18930610485357},
  };
  for (const Case& c : cases) {
    const TestResult result = ChiSquared(c.a, c.b);
    EXPECT_NEAR(result.statistic, c.chi, 1e-10 * c.chi);
    EXPECT_NEAR(result.p, c.p, 1e-9 * c.p);
    EXPECT_NEAR(result.effect, c.v, 1e-12);
  }
  EXPECT_EQ(ChiSquared({5, 0}, {7, 0}).p, 1);  // one category
  EXPECT_EQ(ChiSquared({5, 6}, {0, 0}).p, 1);  // one population
}

TEST(Statistics, ChiSquaredTailAgreesWithSciPy) {
  const double cases[][3] = {{0.1, 1, 0.751829634045849},  {3.84145882069412, 1, 0.05},
                             {10, 3, 0.0185661354630433},  {200, 10, 1.61393053369773e-37},
                             {50, 100, 0.999993046694752}, {1500, 1000, 1.04546403859808e-22},
                             {1e-9, 2, 0.9999999995},      {0, 4, 1}};
  for (const auto& c : cases)
    EXPECT_NEAR(ChiSquaredTail(c[0], c[1]), c[2], 1e-9 * c[2]) << c[0] << " " << c[1];
}

TEST(Statistics, BenjaminiHochbergAgreesWithSciPy) {
  const std::vector<double> q = BenjaminiHochberg({0.01, 0.04, 0.03, 0.005, 0.5, 0.9, 0.0001, 1.0});
  const double expected[] = {0.0266666666666667, 0.064, 0.06,   0.02,
                             0.666666666666667,  1.0,   0.0008, 1.0};
  ASSERT_EQ(q.size(), std::size(expected));
  for (size_t i = 0; i < q.size(); ++i) EXPECT_NEAR(q[i], expected[i], 1e-12) << i;
  EXPECT_TRUE(BenjaminiHochberg({}).empty());
}

}  // namespace
}  // namespace wf::compare
