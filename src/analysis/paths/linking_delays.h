// How long something takes: a density learnt from samples, without an assumed shape.
//
// Delays of real services have several modes (cache hit or miss), sharp left edges and long tails, and those
// of a generator are normal with a deviation of a few percent of fifty milliseconds. Bins of equal weight
// follow all of these: narrow where samples are dense, wide in the tail. Where a normal or lognormal curve
// fits the samples as well as that many bins do, the curve is used: it has only two parameters, which few
// samples determine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wf::paths {

struct WeightedDelay {
  double delay = 0;  // ns; negative ones occur where clocks differ
  double weight = 0;
};

class DelayDensity {
 public:
  enum class Fit : uint8_t { kBins, kBest };  // kBest tries curves too, which takes longer

  DelayDensity() = default;
  // `samples` by rising delay. Weights need no particular sum; samples of weight 0 are skipped.
  DelayDensity(std::span<const WeightedDelay> samples, Fit fit);

  // Number of learnt parameters of the shape.
  size_t Parameters() const { return shape_ == Shape::kBins ? at_.size() : 2; }
  // Per nanosecond. Never 0: a delay that was not seen may still happen.
  double At(double delay) const;
  // Contains all delays with at least this density; empty (from > to) if there are none.
  struct Range {
    double from = 0, to = -1;
  };
  Range Where(double least) const;

 private:
  double UnseenAt(double delay) const;
  enum class Shape : uint8_t { kBins, kNormal, kLogNormal };
  void ChooseShape(std::span<const WeightedDelay> samples, double total, double effective);

  Shape shape_ = Shape::kBins;
  double mean_ = 0, deviation_ = 1;   // of the delay, or of its logarithm
  std::vector<double> at_, density_;  // knots by rising delay, and the density there
  double left_scale_ = 1, right_scale_ = 1;
  double unseen_ = 1;  // weight of delays that the samples do not show
};

}  // namespace wf::paths
