// Messages of the paper's multi-tier system (Aguilera et al. figure 10), in time order and without end: client →
// WS1|WS2 (60:40) → AUTH, which calls DB1 in 70%; then → AP1|AP2 (55:45), which calls DB1|DB2 (65:35) once (75%) or
// twice. A call takes 50 ms before it goes on, a return 10 ms; deviation 10%. Paths begin at a given rate, so the rate
// sets the parallelism. Seeded.
#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <vector>

#include "model/sighting.h"
#include "model/string_table.h"

namespace wf {

class MultiTier {
 public:
  MultiTier(double paths_per_second, uint64_t seed, StringTable& names);
  Sighting Next();

 private:
  struct Later {
    bool operator()(const Sighting& a, const Sighting& b) const {
      return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.id > b.id;
    }
  };
  void StartPath();
  Nanos Delay(double mean_ms);
  bool Chance(double p) { return uniform_(random_) < p; }
  // A call at `at`, with whatever `inside` does between its arrival and its return; the time of the return.
  template <typename Inside>
  Nanos Call(NodeId from, NodeId to, Nanos at, Inside inside);

  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  std::normal_distribution<double> normal_{0, 1};
  std::exponential_distribution<double> gap_;
  NodeId client_, ws_[2], auth_, ap_[2], db_[2];
  std::priority_queue<Sighting, std::vector<Sighting>, Later> pending_;
  Nanos next_path_ = 1'700'000'000 * kSecond;
  uint64_t calls_ = 0, line_ = 0;
};

}  // namespace wf
