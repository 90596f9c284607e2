// Scoreboard: for each triple (A, B, C), how often B called C at a given delay after A had called B (Aguilera
// et al. §5.1.1.2). A histogram keeps only the range of bins it has used: a gateway may have a hundred
// thousand callers.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/delay_bins.h"
#include "model/sighting.h"

namespace wf::paths {

class WeightedDelays {
 public:
  void Add(int bin, double weight);
  double At(int bin) const {
    const size_t at = static_cast<size_t>(bin - first_);
    return at < weights_.size() ? weights_[at] : 0;
  }
  double Smoothed(int bin) const {
    const size_t at = static_cast<size_t>(bin - smooth_first_);
    return at < smooth_.size() ? smooth_[at] : 0;
  }
  // Convolves with a Gaussian whose deviation is `bins` bins; Smoothed() returns the result.
  void Smooth(double bins);
  size_t MemoryBytes() const { return (weights_.capacity() + smooth_.capacity()) * sizeof(double); }

 private:
  int first_ = 0, smooth_first_ = 0;
  std::vector<double> weights_, smooth_;
};

class Scoreboard {
 public:
  Scoreboard();

  WeightedDelays& Of(NodeId a, NodeId b, NodeId c);
  void Smooth(double bins);
  size_t size() const { return rows_.size(); }
  const std::vector<WeightedDelays>& histograms() const { return histograms_; }

 private:
  struct Row {
    NodeId a, b, c;
  };
  static uint64_t HashOf(NodeId a, NodeId b, NodeId c);
  void Grow();

  std::vector<Row> rows_;
  std::vector<WeightedDelays> histograms_;  // parallel to rows_
  std::vector<uint32_t> slots_;             // open addressing, row + 1; at most half full
};

}  // namespace wf::paths
