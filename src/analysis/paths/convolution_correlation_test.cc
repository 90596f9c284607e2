#include "analysis/paths/convolution_correlation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "analysis/paths/convolution_spikes.h"

namespace wf::paths {
namespace {

using ::testing::ElementsAre;

Signal RandomSignal(std::mt19937_64& random, int64_t span, size_t messages, uint64_t id) {
  std::vector<int64_t> quanta;
  for (size_t i = 0; i < messages; ++i)
    quanta.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(span)));
  std::sort(quanta.begin(), quanta.end());
  return Indicator(quanta, id);
}

TEST(ConvolutionCorrelation, TheIndicatorIsTheRootOfTheCount) {
  const std::vector<int64_t> quanta = {3, 5, 5, 5, 5, 9};
  const Signal signal = Indicator(quanta, 1);
  ASSERT_EQ(signal.pulses.size(), 3u);
  EXPECT_EQ(signal.pulses[1].quantum, 5);
  EXPECT_EQ(signal.pulses[1].weight, 2);
}

TEST(ConvolutionCorrelation, CountsPairsByLag) {
  const std::vector<int64_t> causes = {0, 10, 20}, effects = {3, 13, 23, 24};
  for (const auto method : {CorrelationMethod::kDirect, CorrelationMethod::kTransform}) {
    Correlator correlator({-1, 4}, 25, method);
    EXPECT_THAT(correlator.Correlate(Indicator(causes, 1), Indicator(effects, 2)),
                ElementsAre(0, 0, 0, 0, 3, 1));
  }
}

TEST(ConvolutionCorrelation, LongTracesGoThroughInBlocks) {
  std::mt19937_64 random(1);
  const int64_t span = 1'000'000;
  const Signal cause = RandomSignal(random, span, 20'000, 1);
  const Signal effect = RandomSignal(random, span, 20'000, 2);
  Correlator direct({-10, 500}, span, CorrelationMethod::kDirect);
  Correlator transform({-10, 500}, span, CorrelationMethod::kTransform);
  const std::span<const double> a = direct.Correlate(cause, effect);
  for (int again = 0; again < 2; ++again) {  // the second time from cached transforms
    const std::span<const double> b = transform.Correlate(cause, effect);
    ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST(ConvolutionCorrelation, TheCheaperMethodIsTaken) {
  std::mt19937_64 random(1);
  const Signal sparse = RandomSignal(random, 1'000'000'000, 1'000, 1);
  Correlator of_sparse({0, 1'000'000}, 1'000'000'000, CorrelationMethod::kByCost);
  of_sparse.Correlate(sparse, sparse);
  EXPECT_EQ(of_sparse.counts().direct, 1u);
  const Signal dense = RandomSignal(random, 50'000, 50'000, 1);
  Correlator of_dense({0, 10'000}, 50'000, CorrelationMethod::kByCost);
  of_dense.Correlate(dense, dense);
  EXPECT_EQ(of_dense.counts().transformed, 1u);
}

RC_GTEST_PROP(ConvolutionCorrelationProperty, BothMethodsGiveTheSameNumbers, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<uint64_t>());
  const auto span = *rc::gen::inRange<int64_t>(1, 20'000);
  const auto first = -*rc::gen::inRange<int64_t>(0, 100);
  const auto last = *rc::gen::inRange<int64_t>(0, 3'000);
  const auto messages = static_cast<size_t>(*rc::gen::inRange(0, 2'000));
  const Signal cause = RandomSignal(random, span, messages, 1);
  const Signal effect = RandomSignal(random, span, messages / 2 + 1, 2);
  Correlator direct({first, last}, span, CorrelationMethod::kDirect);
  Correlator transform({first, last}, span, CorrelationMethod::kTransform);
  const std::span<const double> a = direct.Correlate(cause, effect);
  const std::span<const double> b = transform.Correlate(cause, effect);
  RC_ASSERT(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

// A correlation of noise between 9 and 11 with some points set.
std::vector<double> Noise(std::initializer_list<std::pair<size_t, double>> points) {
  std::vector<double> out(1'000);
  for (size_t i = 0; i < out.size(); ++i) out[i] = 10 + std::sin(static_cast<double>(i * i));
  for (const auto& [at, value] : points) out[at] = value;
  return out;
}

std::vector<int64_t> Lags(const Spikes& found) {
  std::vector<int64_t> out;
  for (const Spike& spike : found.spikes) out.push_back(spike.lag);
  return out;
}

TEST(ConvolutionSpikes, TwoSpikesAsInFigure7) {
  const Spikes found = FindSpikes(Noise({{200, 90}, {201, 70}, {600, 60}}), 0, {});
  EXPECT_THAT(Lags(found), ElementsAre(200, 600));
  EXPECT_EQ(found.spikes[0].first, 200);
  EXPECT_EQ(found.spikes[0].last, 201);
}

TEST(ConvolutionSpikes, WithoutALowPointBetweenThemTheyAreOne) {
  // Deviation about 5.6, mean 10.3: high from 33, low below 27.
  EXPECT_THAT(Lags(FindSpikes(Noise({{300, 80}, {301, 35}, {302, 100}}), 0, {})), ElementsAre(302));
  EXPECT_THAT(Lags(FindSpikes(Noise({{300, 80}, {301, 20}, {302, 100}}), 0, {})),
              ElementsAre(300, 302));
}

TEST(ConvolutionSpikes, NIsHowHighAndSHowLow) {
  const std::vector<double> c = Noise({{200, 90}, {600, 40}});
  EXPECT_THAT(Lags(FindSpikes(c, 0, {})), ElementsAre(200, 600));
  EXPECT_THAT(Lags(FindSpikes(c, 0, {.high = 12, .low = 3})), ElementsAre(200));
  const std::vector<double> near = Noise({{300, 80}, {301, 35}, {302, 100}});
  EXPECT_THAT(Lags(FindSpikes(near, 0, {.high = 8, .low = 8})), ElementsAre(300, 302));
}

TEST(ConvolutionSpikes, WithAVarianceTheLargestTakesWhatIsWithinIt) {
  const std::vector<double> c = Noise({{300, 60}, {310, 90}, {320, 60}, {400, 60}});
  EXPECT_THAT(Lags(FindSpikes(c, 0, {})), ElementsAre(300, 310, 320, 400));
  EXPECT_THAT(Lags(FindSpikes(c, 0, {.variance = 10})), ElementsAre(310, 400));
}

TEST(ConvolutionSpikes, ASpikeBeforeZeroIsNoDelay) {
  const Spikes before = FindSpikes(Noise({{5, 90}}), -10, {});
  EXPECT_THAT(Lags(before), ElementsAre());
  EXPECT_EQ(before.negative, 1u);
  // Its flank at 0 is none either, but a maximum of its own is.
  EXPECT_THAT(Lags(FindSpikes(Noise({{9, 90}, {10, 60}}), -10, {})), ElementsAre());
  EXPECT_THAT(Lags(FindSpikes(Noise({{9, 90}, {10, 50}, {11, 80}}), -10, {})), ElementsAre(1));
}

TEST(ConvolutionSpikes, CoincidencesInAnEmptyTraceAreChance) {
  std::vector<double> c(100'000);
  for (size_t i = 0; i < c.size(); i += 100) c[i] = 1;
  c[5'000] = 2;
  const Spikes found = FindSpikes(c, 0, {});
  EXPECT_TRUE(found.spikes.empty());
  EXPECT_GT(found.chance, 0u);
  c[7'000] = 12;
  EXPECT_THAT(Lags(FindSpikes(c, 0, {})), ElementsAre(7'000));
}

TEST(ConvolutionSpikes, ASmallSpikeDoesNotReachIntoALargerOne) {
  const Spikes found =
      FindSpikes(Noise({{100, 900}, {101, 20}, {102, 90}}), 0, {.high = 2, .low = 1});
  ASSERT_THAT(Lags(found), ElementsAre(100, 102));
  EXPECT_EQ(found.spikes[0].last, 100);
  EXPECT_GE(found.spikes[1].first, 101);
}

TEST(ConvolutionSpikes, AWideSpikeHasItsLags) {
  std::vector<double> c = Noise({});
  for (int i = -40; i <= 40; ++i)
    c[static_cast<size_t>(500 + i)] += 200 * std::exp(-0.5 * i * i / 100.0);  // deviation 10
  const Spikes found = FindSpikes(c, 0, {});
  ASSERT_EQ(found.spikes.size(), 1u);
  const Spike& spike = found.spikes[0];
  EXPECT_NEAR(static_cast<double>(spike.lag), 500, 1);
  EXPECT_NEAR(static_cast<double>(spike.first), 479, 4);
  EXPECT_NEAR(static_cast<double>(spike.last), 521, 4);
  EXPECT_NEAR(spike.centre, 500, 0.5);
}

}  // namespace
}  // namespace wf::paths
