// PathGraph: an index of a trace for the walk, the order of events and the replay. It lists the edges that
// say more than parentage, by receiver and by sender, and the category of each block's time. Borrows the
// trace.
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/critical_path/critical_path.h"

namespace wf::critical_path {

struct PathGraph {
  explicit PathGraph(const Trace& trace);

  const Trace& trace;
  // Edges into block b: in[in_begin[b] .. in_begin[b + 1]); edges out of it alike. Edges that only repeat
  // parentage are left out: they tie the bounds of a block to its parent's bounds and add no timing.
  std::vector<uint32_t> in_begin, in, out_begin, out;
  // Per block: the edges of parentage to and from its caller, if it is the SERVER of a CLIENT; else kNone.
  std::vector<uint32_t> request_of, response_of;

  const Block& block(uint32_t b) const { return trace.blocks[b]; }
  uint32_t sender(uint32_t edge) const { return trace.points[trace.edges[edge].from].block; }
  uint32_t receiver(uint32_t edge) const { return trace.points[trace.edges[edge].to].block; }
  Nanos receipt(uint32_t edge) const { return trace.points[trace.edges[edge].to].time_ns; }
  // If the clocks contradict causality, the transit took no time, and the sender is still the cause.
  Nanos send(uint32_t edge) const {
    const Edge& e = trace.edges[edge];
    return std::min(trace.points[e.from].time_ns, trace.points[e.to].time_ns);
  }
  // The span named by the first link of `b` into this trace that began no later than `b`; kNone if there is
  // none.
  uint32_t FirstLink(uint32_t b) const;

 private:
  mutable IdMap block_by_id_;  // filled when the first link is looked up
};

// The category of a block's own time.
PathCategory OwnCategory(const Trace& trace, uint32_t block);
// The category of an edge's transit from sender to receiver.
PathCategory TransitCategory(EdgeType type);

// Rule 4: may `overlap` of two siblings of these lengths be a clock's inaccuracy?
constexpr Nanos kMaxOverlap = kMilli;
constexpr Nanos kOverlapShare = 20;  // the overlap is at most 1/20 of the shorter one
inline bool Tolerable(Nanos overlap, Nanos one, Nanos other) {
  return overlap <= kMaxOverlap && kOverlapShare * overlap <= std::min(one, other);
}

}  // namespace wf::critical_path
