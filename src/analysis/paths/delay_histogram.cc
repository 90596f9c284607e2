#include "analysis/paths/delay_histogram.h"

namespace wf::paths {

void DelayHistogram::Add(Nanos delay) {
  const int bin = DelayBins::Get().Of(delay);
  if (counts_.empty()) first_ = bin;
  if (bin < first_) {
    counts_.insert(counts_.begin(), static_cast<size_t>(first_ - bin), 0);
    first_ = bin;
  }
  const size_t at = static_cast<size_t>(bin - first_);
  if (at >= counts_.size()) counts_.resize(at + 1, 0);
  if (counts_[at] != UINT32_MAX) ++counts_[at];
}

std::vector<DelayHistogram::Bin> DelayHistogram::Bins() const {
  const DelayBins& bins = DelayBins::Get();
  std::vector<Bin> out;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const int bin = first_ + static_cast<int>(i);
    // Delays shorter than the first bin are counted in it.
    const Nanos from = bin == 0 ? 0 : bins.From(bin);
    out.push_back({from, bins.From(bin) + bins.Width(bin), counts_[i]});
  }
  return out;
}

}  // namespace wf::paths
