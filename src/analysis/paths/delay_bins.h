// Delays in bins of equal ratio: log₁.₀₅ of the delay from 1 µs to 2 h (Aguilera et al. §5.1.1.2). Shorter
// delays, negative ones from skewed clocks included, go into the first bin, longer ones into the last.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/nanos.h"

namespace wf::paths {

class DelayBins {
 public:
  static constexpr int kCount = 466;  // floor(log₁.₀₅(2 h / 1 µs)) + 1

  static const DelayBins& Get();

  int Of(Nanos delay) const {
    if (delay < kMicro) return 0;
    const uint64_t value = static_cast<uint64_t>(delay);
    const int octave = 63 - std::countl_zero(value);
    const uint64_t cell = static_cast<uint64_t>(octave) << kCellBits |
                          ((value << (63 - octave) >> (63 - kCellBits)) & ((1u << kCellBits) - 1));
    const int bin = bin_of_cell_[cell];
    return bin + 1 < kCount && delay >= from_[bin + 1] ? bin + 1 : bin;
  }
  Nanos From(int bin) const { return from_[bin]; }  // the shortest delay of a bin (the first: 1 µs)
  Nanos Width(int bin) const;

 private:
  DelayBins();

  // 64 cells per octave are narrower than a bin, so a cell holds at most one border between bins.
  static constexpr int kCellBits = 6;

  std::array<Nanos, kCount> from_;
  std::array<uint16_t, 64 << kCellBits> bin_of_cell_;
};

}  // namespace wf::paths
