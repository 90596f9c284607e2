#include "analysis/paths/linking_delays.h"

#include <algorithm>
#include <cmath>

namespace wf::paths {
namespace {

// Below this, differences are the resolution of clocks and of what wrote the trace down, not the system's.
constexpr double kFinestNs = 500;
constexpr double kFinestShare = 0.002;
constexpr size_t kMostBins = 64;
constexpr double kLeastForCurve = 8;
constexpr double kOneByRootOfTwoPi = 0.3989422804014327;
constexpr double kBinsPerRoot = 1.2;
constexpr double kLeastUnseen = 1e-4, kMostUnseen = 0.2;
constexpr int kCurveRounds = 4;

// The density of delays that were never seen: uniform over the logarithm of a delay between 1 µs and 2 h, for
// either sign.
constexpr double kUnseenNorm = 45.4;
constexpr double kUnseenFinestNs = 1000;

}  // namespace

DelayDensity::DelayDensity(std::span<const WeightedDelay> samples, Fit fit) {
  double total = 0, squares = 0;
  for (const WeightedDelay& sample : samples) {
    total += sample.weight;
    squares += sample.weight * sample.weight;
  }
  if (total <= 0) return;
  const double effective = total * total / squares;
  unseen_ = std::clamp(0.5 / (effective + 1), kLeastUnseen, kMostUnseen);

  // Bins of equal weight. Their number grows with the root of the samples', which keeps the noise of each near that of
  // the shape between them.
  const auto bins = static_cast<size_t>(
      std::clamp(kBinsPerRoot * std::sqrt(effective), 2.0, static_cast<double>(kMostBins)));
  const double share = total / static_cast<double>(bins);
  std::vector<double> widths;
  double from = samples.front().delay, filled = 0;
  double last = from;
  const auto close = [&](double to) {
    const double finest = kFinestNs + kFinestShare * std::abs(to);
    const double width = std::max(to - from, finest);
    at_.push_back(from + (to - from) / 2);
    density_.push_back(filled / (total * width));
    widths.push_back(width);
    from = to;
    filled = 0;
  };
  for (const WeightedDelay& sample : samples) {
    if (sample.weight <= 0) continue;
    if (at_.empty() && filled == 0) from = sample.delay;
    filled += sample.weight;
    last = sample.delay;
    if (filled >= share && last - from >= kFinestNs + kFinestShare * std::abs(last)) close(last);
  }
  if (filled > share / 2 || at_.empty()) {
    close(last);
  }
  // Neighbours share their noise, in the logarithm because densities span decades.
  if (density_.size() >= 4) {
    std::vector<double> smooth = density_;
    for (size_t i = 1; i + 1 < density_.size(); ++i) {
      smooth[i] = std::pow(density_[i - 1] * density_[i] * density_[i] * density_[i + 1], 0.25);
    }
    density_ = std::move(smooth);
  }
  left_scale_ = std::max(widths.front(), kFinestNs);
  right_scale_ = std::max(widths.back(), kFinestNs);
  if (fit == Fit::kBest) ChooseShape(samples, total, effective);
}

// By minimum description length: each parameter costs half the logarithm of the number of samples.
void DelayDensity::ChooseShape(std::span<const WeightedDelay> samples, double total,
                               double effective) {
  if (effective < kLeastForCurve) return;
  const double scale = effective / total;
  double sum[2] = {0, 0}, squares[2] = {0, 0};
  bool positive = true;
  for (const WeightedDelay& sample : samples) {
    if (sample.weight <= 0) continue;
    positive &= sample.delay > 0;
    const double values[2] = {sample.delay, positive ? std::log(sample.delay) : 0};
    for (int i = 0; i < 2; ++i) {
      sum[i] += sample.weight * values[i];
      squares[i] += sample.weight * values[i] * values[i];
    }
  }
  double bins_fit = 0;
  for (const WeightedDelay& sample : samples) {
    if (sample.weight > 0) bins_fit += scale * sample.weight * std::log(At(sample.delay));
  }
  double best = bins_fit - 0.5 * static_cast<double>(at_.size()) * std::log(effective);
  const double bins_unseen = unseen_;
  Shape chosen = Shape::kBins;
  double chosen_mean = 0, chosen_deviation = 1, chosen_unseen = unseen_;
  for (int i = 0; i < (positive ? 2 : 1); ++i) {
    shape_ = i == 0 ? Shape::kNormal : Shape::kLogNormal;
    unseen_ = bins_unseen;
    mean_ = sum[i] / total;
    const double finest = i == 0 ? kFinestNs : kFinestShare;
    deviation_ = std::sqrt(std::max(squares[i] / total - mean_ * mean_, finest * finest));
    // Some delays have another cause than this one, such as a message that was lost. They must not widen the curve.
    for (int round = 0; round < kCurveRounds; ++round) {
      double weight = 0, first = 0, second = 0;
      for (const WeightedDelay& sample : samples) {
        if (sample.weight <= 0) continue;
        const double value = i == 0 ? sample.delay : std::log(sample.delay);
        const double by_curve = sample.weight * (1 - UnseenAt(sample.delay) / At(sample.delay));
        weight += by_curve;
        first += by_curve * (value - mean_);
        second += by_curve * (value - mean_) * (value - mean_);
      }
      if (weight <= 0) break;
      const double moved = first / weight;
      mean_ += moved;
      deviation_ = std::sqrt(std::max(second / weight - moved * moved, finest * finest));
      unseen_ =
          std::clamp((0.5 + scale * (total - weight)) / (effective + 1), kLeastUnseen, kMostUnseen);
    }
    double fit = -1.5 * std::log(effective);
    for (const WeightedDelay& sample : samples) {
      if (sample.weight > 0) fit += scale * sample.weight * std::log(At(sample.delay));
    }
    if (fit <= best) continue;
    best = fit;
    chosen = shape_;
    chosen_mean = mean_;
    chosen_deviation = deviation_;
    chosen_unseen = unseen_;
  }
  shape_ = chosen;
  mean_ = chosen_mean;
  deviation_ = chosen_deviation;
  unseen_ = chosen_unseen;
}

// The ranges where one of the two parts, seen or unseen, has at least half of it.
DelayDensity::Range DelayDensity::Where(double least) const {
  least /= 2;
  Range range;
  const auto widen = [&range](double from, double to) {
    if (from > to) return;
    range = range.from > range.to ? Range{from, to}
                                  : Range{std::min(range.from, from), std::max(range.to, to)};
  };
  const double unseen = unseen_ / (kUnseenNorm * least) - kUnseenFinestNs;
  widen(-unseen, unseen);
  if (at_.empty()) return range;
  if (shape_ == Shape::kBins) {
    const auto enough = [least](double density) { return density >= least; };
    const auto first = std::find_if(density_.begin(), density_.end(), enough);
    if (first == density_.end()) return range;
    const auto last = std::find_if(density_.rbegin(), density_.rend(), enough).base();
    widen(first == density_.begin() ? at_.front() - left_scale_ * std::log(density_.front() / least)
                                    : at_[static_cast<size_t>(first - density_.begin()) - 1],
          last == density_.end() ? at_.back() + right_scale_ * std::log(density_.back() / least)
                                 : at_[static_cast<size_t>(last - density_.begin())]);
    return range;
  }
  const double height = std::log(least * deviation_ / kOneByRootOfTwoPi);
  const double square = deviation_ * deviation_;
  if (shape_ == Shape::kNormal) {
    if (height < 0) {
      const double reach = deviation_ * std::sqrt(-2 * height);
      widen(mean_ - reach, mean_ + reach);
    }
    return range;
  }
  // Of the logarithm y of the delay: (y - mean)² / 2 square + y + height <= 0.
  const double inside = square * square - 2 * square * (mean_ + height);
  if (inside >= 0) {
    const double reach = std::sqrt(inside);
    widen(std::exp(mean_ - square - reach), std::exp(mean_ - square + reach));
  }
  return range;
}

double DelayDensity::UnseenAt(double delay) const {
  return unseen_ / (kUnseenNorm * (std::abs(delay) + kUnseenFinestNs));
}

double DelayDensity::At(double delay) const {
  const double unseen = UnseenAt(delay);
  if (at_.empty()) return unseen;
  if (shape_ != Shape::kBins) {
    const bool log = shape_ == Shape::kLogNormal;
    if (log && delay <= 0) return unseen;
    const double off = ((log ? std::log(delay) : delay) - mean_) / deviation_;
    return unseen +
           kOneByRootOfTwoPi * std::exp(-0.5 * off * off) / (deviation_ * (log ? delay : 1));
  }
  if (delay <= at_.front()) {
    return unseen + density_.front() * std::exp((delay - at_.front()) / left_scale_);
  }
  if (delay >= at_.back()) {
    return unseen + density_.back() * std::exp((at_.back() - delay) / right_scale_);
  }
  const size_t i =
      static_cast<size_t>(std::upper_bound(at_.begin(), at_.end(), delay) - at_.begin());
  const double part = (delay - at_[i - 1]) / (at_[i] - at_[i - 1]);
  return unseen + density_[i - 1] + part * (density_[i] - density_[i - 1]);
}

}  // namespace wf::paths
