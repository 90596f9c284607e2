#include "analysis/paths/delay_bins.h"

#include <algorithm>
#include <cmath>

namespace wf::paths {

DelayBins::DelayBins() {
  for (int bin = 0; bin < kCount; ++bin)
    from_[bin] = static_cast<Nanos>(std::ceil(1000.0 * std::pow(1.05, bin) - 1e-6));
  for (size_t cell = 0; cell < bin_of_cell_.size(); ++cell) {
    const size_t octave = cell >> kCellBits;
    const uint64_t mantissa = (uint64_t{1} << kCellBits) | (cell & ((1u << kCellBits) - 1));
    const uint64_t first =
        octave >= kCellBits ? mantissa << (octave - kCellBits) : mantissa >> (kCellBits - octave);
    const auto next = std::upper_bound(from_.begin(), from_.end(),
                                       static_cast<Nanos>(std::min<uint64_t>(first, INT64_MAX)));
    bin_of_cell_[cell] = static_cast<uint16_t>(std::max<ptrdiff_t>(next - from_.begin() - 1, 0));
  }
}

const DelayBins& DelayBins::Get() {
  static const DelayBins bins;
  return bins;
}

Nanos DelayBins::Width(int bin) const {
  if (bin == 0) return from_[1];
  return bin + 1 < kCount ? from_[bin + 1] - from_[bin] : 2 * kHour - from_[bin];
}

}  // namespace wf::paths
