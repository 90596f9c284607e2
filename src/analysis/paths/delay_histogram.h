// DelayHistogram: how the delays of many instances are spread, in the bins of DelayBins (5% wide). Only the bins between
// the shortest and the longest delay take room: 4 bytes each. Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/delay_bins.h"

namespace wf::paths {

class DelayHistogram {
 public:
  void Add(Nanos delay);

  struct Bin {
    Nanos from_ns = 0, until_ns = 0;
    uint32_t count = 0;
  };
  std::vector<Bin> Bins() const;  // bins that are not empty, the shortest delays first
  size_t MemoryBytes() const { return counts_.capacity() * sizeof(uint32_t); }

 private:
  int first_ = 0;  // bin of counts_.front()
  std::vector<uint32_t> counts_;
};

}  // namespace wf::paths
