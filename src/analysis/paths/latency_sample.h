// LatencySample: quantiles of latencies, exact for up to a million of them, within 1% beyond, in bounded memory.
//
// Quantile q of n values is the ⌈qn⌉-th smallest. Up to kExact values are kept; then they become counts in
// bins of 1%, whose middle is at most 0.5% off. Thread safety: none; Quantile reorders values, so it is not
// safe either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"

namespace wf::paths {

class LatencySample {
 public:
  static constexpr size_t kExact = 1'000'000;

  void Add(Nanos latency);
  Nanos Quantile(double q) const;  // of at least one value
  uint64_t count() const { return count_; }
  size_t exact_values() const { return values_.size(); }
  bool exact() const { return bins_.empty(); }
  void GiveUpExactness();
  size_t MemoryBytes() const {
    return values_.capacity() * sizeof(Nanos) + bins_.capacity() * sizeof(uint64_t);
  }

 private:
  void AddToBin(Nanos latency, uint64_t times);

  uint64_t count_ = 0;
  mutable std::vector<Nanos> values_;  // reordered by Quantile
  std::vector<uint64_t> bins_;         // empty while values are kept
};

}  // namespace wf::paths
