// How long something takes: a density learnt from samples, without a shape given in advance.
//
// Delays of real services have several modes (cache hit or miss), sharp left edges and long tails, and those of a
// generator are normal with a deviation of a few percent of fifty milliseconds. Bins of equal weight follow all of
// these: narrow where samples are dense, wide in the tail. Where a normal or lognormal curve tells the samples as well
// as that many bins do, the curve is taken: it needs two numbers, and few samples settle those.
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
  enum class Fit : uint8_t { kBins, kBest };  // the second tries curves too, which takes longer

  DelayDensity() = default;
  // `samples` by rising delay. Weights need not add up to anything; those of 0 are passed over.
  DelayDensity(std::span<const WeightedDelay> samples, Fit fit);

  // Numbers that were learnt to tell the shape.
  size_t Parameters() const { return shape_ == Shape::kBins ? at_.size() : 2; }
  // Per nanosecond. Never 0: whatever was not seen may still happen.
  double At(double delay) const;
  // All delays with at least this density are in it; empty (from > to) if there are none.
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
  double unseen_ = 1;  // weight of what the samples do not show
};

}  // namespace wf::paths
