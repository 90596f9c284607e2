#include "analysis/paths/latency_sample.h"

#include <algorithm>
#include <cmath>

namespace wf::paths {
namespace {

const double kLogRatio = std::log(1.01);
constexpr size_t kLatencyBins = 4400;  // 1.01^4389 = 2^63; the first is for values not above zero

size_t BinOf(Nanos latency) {
  if (latency <= 0) return 0;
  return 1 + static_cast<size_t>(std::log(static_cast<double>(latency)) / kLogRatio);
}

Nanos MiddleOf(size_t bin) {
  if (bin == 0) return 0;
  return static_cast<Nanos>(std::llround(std::exp((static_cast<double>(bin) - 0.5) * kLogRatio)));
}

}  // namespace

void LatencySample::Add(Nanos latency) {
  ++count_;
  if (bins_.empty() && values_.size() == kExact) GiveUpExactness();
  if (bins_.empty())
    values_.push_back(latency);
  else
    AddToBin(latency, 1);
}

void LatencySample::AddToBin(Nanos latency, uint64_t times) { bins_[BinOf(latency)] += times; }

void LatencySample::GiveUpExactness() {
  if (!bins_.empty()) return;
  bins_.assign(kLatencyBins, 0);
  for (const Nanos value : values_) AddToBin(value, 1);
  values_.clear();
  values_.shrink_to_fit();
}

Nanos LatencySample::Quantile(double q) const {
  if (count_ == 0) return 0;
  // q is a decimal (0.99): rounding must not push its product with n over an integer.
  const double exact_rank = q * static_cast<double>(count_);
  const double rank = std::ceil(exact_rank - 1e-9 * std::max(1.0, exact_rank));
  const uint64_t nth = static_cast<uint64_t>(std::clamp(rank, 1.0, static_cast<double>(count_)));
  if (bins_.empty()) {
    const auto at = values_.begin() + static_cast<ptrdiff_t>(nth - 1);
    std::nth_element(values_.begin(), at, values_.end());
    return *at;
  }
  uint64_t below = 0;
  for (size_t bin = 0; bin < bins_.size(); ++bin) {
    below += bins_[bin];
    if (below >= nth) return MiddleOf(bin);
  }
  return MiddleOf(bins_.size() - 1);
}

}  // namespace wf::paths
