// What many patterns say together: an order, the rare slow ones, those of one period only, and one graph of
// all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/paths/pattern.h"

namespace wf::paths {

enum class PatternOrder : uint8_t { kTotalLatency, kCount };

// The largest first; ties by the other measure, then by id.
std::vector<const Pattern*> InOrder(const PatternTable& table, PatternOrder order);

// Patterns that are rare among the paths from the same client into the same node (at most 1 in 100) and take
// at least twice as long as usual. By falling time above the usual, of all instances together.
struct RareSlowPattern {
  const Pattern* pattern = nullptr;
  Nanos usual_ns = 0;  // the median of the paths from that client into that node
  uint64_t among = 0;  // how many such paths there are
};
std::vector<RareSlowPattern> FindRareSlow(const PatternTable& table);

// A pattern that is frequent (at least 1 path in 100) in one eighth of the time, and rare outside it.
struct PatternPhase {
  Nanos from_ns = 0, until_ns = 0;
  uint64_t count = 0;  // of its instances in that time
  uint64_t among = 0;  // of all paths
};
class PatternPhases {
 public:
  explicit PatternPhases(const PatternTable& table);
  std::optional<PatternPhase> Of(const Pattern& pattern) const;

 private:
  Nanos start_, span_;
  size_t used_ = 0;  // spans of the timeline, up to the last path
  std::array<uint64_t, PatternTimeline::kSpans> all_{};
};

// All patterns as one graph: how often a visit to one node calls another (Aguilera et al. §8).
struct MergedNode {
  NodeId node = 0;
  uint64_t visits = 0;
  WideSum latency = 0, own = 0;  // sums; own: time that no child covers
};
struct MergedEdge {
  NodeId from = 0, to = 0;
  bool starts_path = false;  // from a client to the root of a path; no call visits `from`
  uint64_t calls = 0;
  uint64_t visits_calling = 0;  // visits to `from` with at least one call
  // That a visit of `from` calls `to` (of a client: that a path goes there).
  double probability = 0;
  WideSum call_delay = 0;  // sum over the calls
};
struct MergedGraph {
  std::vector<MergedNode> nodes;  // by falling own time
  std::vector<MergedEdge> edges;  // by falling calls
};
MergedGraph MergePatterns(const PatternTable& table);

// The node of a pattern with the largest sum of steps. Index in Pattern::nodes.
uint32_t SlowestNode(const Pattern& pattern);
WideSum OwnTime(const Pattern& pattern, uint32_t node);

}  // namespace wf::paths
