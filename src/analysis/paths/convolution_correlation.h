// Cross-correlation of two message signals (Aguilera et al. §5.2): C(l) = Σ_t cause(t) · effect(t + l).
//
// Two methods give the same numbers. Direct: every pair of pulses within the lags adds to its lag; its cost
// is the number of pairs, whatever the length of the trace. Transform: by FFT over overlapping blocks; its
// cost is the length of the parts that are not empty, whatever the number of pairs. Results are rounded to
// multiples of 2⁻²⁰, far above the error of either method, so that the choice of method never changes an
// answer.
//
// Thread safety: none; one Correlator per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wf::paths {

struct Pulse {
  int64_t quantum = 0;
  double weight = 0;
};

// Pulses in order of time, at most one per quantum.
struct Signal {
  uint64_t id = 0;  // key for the cache of transforms; equal ids mean equal pulses
  std::vector<Pulse> pulses;
};

// The indicator function of §5.2.1: in each quantum the square root of the number of messages, because a product of two
// counts would otherwise weigh busy quanta by their square. `quanta` ascend.
Signal Indicator(std::span<const int64_t> quanta, uint64_t id);

struct LagRange {
  int64_t first = 0, last = 0;  // both inclusive, in quanta
};

enum class CorrelationMethod : uint8_t { kByCost, kDirect, kTransform };

struct CorrelationCounts {
  uint64_t direct = 0, transformed = 0;  // correlations by method
};

class Correlator {
 public:
  // `span`: the quanta of the longest signal; they count from 0.
  Correlator(LagRange lags, int64_t span, CorrelationMethod method);
  ~Correlator();
  Correlator(const Correlator&) = delete;
  Correlator& operator=(const Correlator&) = delete;

  // Element i is the correlation at lag lags.first + i. Valid until the next call.
  std::span<const double> Correlate(const Signal& cause, const Signal& effect);
  // Drops the cached transforms of the signal, which is not correlated again.
  void Forget(uint64_t id);
  const CorrelationCounts& counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wf::paths
