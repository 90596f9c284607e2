// Spikes of a correlation: the delays after which a node's messages follow others (Aguilera et al. §5.2).
//
// A spike is a local maximum at least N standard deviations above the mean; between two spikes there is a
// point less than S deviations above it; of the points of one spike the largest represents it. Where most
// lags are empty, deviations say little, since two coincidences already exceed them. So a spike must also be
// higher than chance alone explains for that number of lags (noise, §5.2.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wf::paths {

struct SpikeOptions {
  double high = 4;  // N
  double low = 3;   // S
  // Quanta each side of a spike that belong to it; -1: as wide as it stands out.
  int64_t variance = -1;
};

struct Spike {
  int64_t lag = 0;              // of its largest point
  int64_t first = 0, last = 0;  // the lags that belong to it, both inclusive, none negative
  double centre = 0;            // mean lag of what stands out, in quanta
  double level = 0;             // the background around it, per lag
  double excess = 0;            // what stands out above the background, summed over its lags
};

struct Spikes {
  std::vector<Spike> spikes;  // by lag
  uint64_t negative = 0;      // at negative lags: effects do not precede their causes
  uint64_t chance = 0;        // points low enough to be chance
};

// `correlation[i]` is the value at lag first_lag + i.
Spikes FindSpikes(std::span<const double> correlation, int64_t first_lag,
                  const SpikeOptions& options);

}  // namespace wf::paths
