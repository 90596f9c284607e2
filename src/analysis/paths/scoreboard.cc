#include "analysis/paths/scoreboard.h"

#include <algorithm>
#include <cmath>

namespace wf::paths {

void WeightedDelays::Add(int bin, double weight) {
  if (weights_.empty()) first_ = bin;
  if (bin < first_) {
    weights_.insert(weights_.begin(), static_cast<size_t>(first_ - bin), 0.0);
    first_ = bin;
  }
  const size_t at = static_cast<size_t>(bin - first_);
  if (at >= weights_.size()) weights_.resize(at + 1, 0.0);
  weights_[at] += weight;
}

void WeightedDelays::Smooth(double bins) {
  // Three deviations hold 99.7% of the curve.
  const int reach = static_cast<int>(std::ceil(3 * bins));
  std::vector<double> curve(static_cast<size_t>(2 * reach + 1));
  double sum = 0;
  for (int i = -reach; i <= reach; ++i)
    sum += curve[static_cast<size_t>(i + reach)] = std::exp(-0.5 * i * i / (bins * bins));
  for (double& value : curve) value /= sum;
  smooth_first_ = std::max(first_ - reach, 0);
  const int last = first_ + static_cast<int>(weights_.size()) - 1;
  const int smooth_last = std::min(last + reach, DelayBins::kCount - 1);
  smooth_.assign(static_cast<size_t>(smooth_last - smooth_first_ + 1), 0.0);
  for (int bin = first_; bin <= last; ++bin) {
    for (int i = -reach; i <= reach; ++i) {
      // Weight that leaves the range is dropped. If it were kept at the border, the first bin, where a skew
      // window collects all negative delays, would be spread least of all and exceed every true peak:
      // multi-tier with a window of 30 ms lost 63% of its instances that way, and 18% without
      // (bench/paths-accuracy, figure 22).
      const int to = bin + i;
      if (to < smooth_first_ || to > smooth_last) continue;
      smooth_[static_cast<size_t>(to - smooth_first_)] +=
          weights_[static_cast<size_t>(bin - first_)] * curve[static_cast<size_t>(i + reach)];
    }
  }
}

Scoreboard::Scoreboard() : slots_(64, 0) {}

uint64_t Scoreboard::HashOf(NodeId a, NodeId b, NodeId c) {
  return MixBits((uint64_t{a} << 32 | b) * 0x9E3779B97F4A7C15ull + c);
}

WeightedDelays& Scoreboard::Of(NodeId a, NodeId b, NodeId c) {
  for (size_t at = HashOf(a, b, c) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at] == 0) {
      rows_.push_back({a, b, c});
      histograms_.emplace_back();
      slots_[at] = static_cast<uint32_t>(rows_.size());
      if (rows_.size() * 2 > slots_.size()) Grow();
      return histograms_.back();
    }
    const Row& row = rows_[slots_[at] - 1];
    if (row.a == a && row.b == b && row.c == c) return histograms_[slots_[at] - 1];
  }
}

void Scoreboard::Grow() {
  slots_.assign(slots_.size() * 2, 0);
  for (size_t r = 0; r < rows_.size(); ++r) {
    size_t at = HashOf(rows_[r].a, rows_[r].b, rows_[r].c) & (slots_.size() - 1);
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<uint32_t>(r + 1);
  }
}

void Scoreboard::Smooth(double bins) {
  for (WeightedDelays& histogram : histograms_) histogram.Smooth(bins);
}

}  // namespace wf::paths
