// Which calls B→C are issued after B has answered the call that caused them (Aguilera et al. §5.3.1 leaves this open).
//
// A call that nests in nothing has one of three origins: a call that was already answered, a call whose
// messages were lost, or B itself (a heartbeat). Only the first kind may get a parent. For each pair (B, C)
// this class looks at the delays between such calls and the latest calls into B: without a cause they are
// spread evenly, with one they cluster.
//
// Thread safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "analysis/paths/delay_bins.h"
#include "model/sighting.h"

namespace wf::paths {

class LateCalls {
 public:
  // Number of calls into B that are considered: further back every delay is equally likely.
  static constexpr size_t kLatest = 16;

  void CountNested(NodeId b, NodeId c, uint64_t calls) { pairs_[Key(b, c)].nested += calls; }
  // One call that nests in nothing, with the delays from the calls into B that may have caused it (none: no
  // such call in `horizon`). `seen`: how far back they reach.
  void CountAlone(NodeId b, NodeId c, std::span<const Nanos> delays, Nanos seen);
  bool Caused(NodeId b, NodeId c) const;

 private:
  struct Pair {
    uint64_t nested = 0, alone = 0, with_candidates = 0, candidates = 0;
    double seen_ns = 0;  // sum over the calls with candidates
    std::array<uint32_t, DelayBins::kCount> delays{};
  };
  static uint64_t Key(NodeId b, NodeId c) { return uint64_t{b} << 32 | c; }
  static bool Gathered(const Pair& pair);

  std::unordered_map<uint64_t, Pair> pairs_;
};

}  // namespace wf::paths
