// Path patterns: paths that agree in names as trees with unordered children, counted together with what each of their
// nodes took (Aguilera et al. §5.1.1.4).
//
// Children of equal subtrees are told apart by the time they were called: the first of one path meets the first of
// another. Every step inside a node is kept apart: before the first call, between calls, after the last return
// (figure 2). A step is what of the node's own time no child covers, so steps and covered time add up to the latency;
// calls that overlap have a step of 0 between them.
//
// Memory: a pattern takes about 100 bytes a node; beyond kMaxPatterns the rarest half is forgotten, and counted. Thread
// safety: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/paths/call.h"
#include "analysis/paths/delay_histogram.h"
#include "analysis/paths/latency_sample.h"
#include "analysis/paths/path_forest.h"
#include "model/string_table.h"

namespace wf::paths {

__extension__ using WideSum = __int128;  // nanoseconds of a hundred million calls

// sum / count to the nearest whole number.
Nanos MeanOf(WideSum sum, uint64_t count);
Nanos HeldToNanos(WideSum sum);

struct PatternNode {
  NodeId node = 0;
  uint32_t parent = UINT32_MAX;
  uint32_t first_child = 0, children = 0;  // in Pattern::nodes, which is in breadth-first order
  uint32_t first_step = 0;                 // in Pattern::steps; children + 1 of them
  WideSum latency = 0, call_delay = 0;     // sums over the instances
  // What a call to it takes longer at its caller than at itself: the link, there and back. Only where both ends were
  // sighted; each difference is by one clock, so skew does not matter.
  WideSum link = 0;
  uint64_t after_reply = 0;  // instances in which it was called after its parent had replied
};

// How many instances began when: equal spans of time, each as wide as it must be for all to fit.
struct PatternTimeline {
  static constexpr size_t kSpans = 32;
  std::array<uint32_t, kSpans> counts{};
};

// How the delays of one node of a pattern are spread.
struct NodeDistribution {
  DelayHistogram latency, call_delay, own;
};

struct Pattern {
  uint64_t id = 0;  // of names and shape: the same in every run
  NodeId client = 0;
  uint64_t count = 0;
  WideSum total_latency = 0;
  LatencySample latency;
  std::vector<PatternNode> nodes;
  std::vector<WideSum> steps;
  Nanos first_ns = 0, last_ns = 0;  // when the earliest and the latest instance began
  PatternTimeline timeline;
  std::vector<NodeDistribution> distributions;  // by node; none unless they are kept

  const PatternNode& root() const { return nodes.front(); }
  Nanos MeanLatency() const { return MeanOf(total_latency, count); }
};

// Distributions take about ten times the room of the means.
enum class KeepDistributions : uint8_t { kNo, kYes };

class PatternTable {
 public:
  static constexpr size_t kMaxPatterns = 131'072;
  // Latencies kept exactly, over all patterns; beyond it the most frequent pattern is the first to be counted in bins.
  static constexpr size_t kMaxExactValues = 32'000'000;

  // `names` is borrowed and may grow.
  explicit PatternTable(const StringTable& names, KeepDistributions keep = KeepDistributions::kNo)
      : names_(names), keep_(keep) {}

  // The paths of `roots`. Reorders the children in `forest`.
  void Add(std::span<const Call> calls, PathForest& forest, std::span<const uint32_t> roots);
  // Gives back what only Add needs, of the size of all calls. More may be added.
  void ReleaseScratch();
  size_t MemoryBytes() const;

  const std::deque<Pattern>& patterns() const { return patterns_; }
  uint64_t paths() const { return paths_; }
  // Rare patterns given up for lack of room, and how many instances they had.
  uint64_t forgotten_patterns() const { return forgotten_patterns_; }
  uint64_t forgotten_paths() const { return forgotten_paths_; }
  // All paths by when they began; latencies are sums.
  struct TimeSpan {
    uint64_t count = 0;
    WideSum latency = 0;
  };
  const std::array<TimeSpan, PatternTimeline::kSpans>& timeline() const { return timeline_; }
  // Of all patterns' timelines.
  Nanos timeline_start() const { return timeline_start_; }
  Nanos timeline_span() const { return timeline_span_; }

  uint64_t NameHash(NodeId node);

 private:
  void HashAndSteps(std::span<const Call> calls, PathForest& forest);
  Pattern& Find(std::span<const Call> calls, const PathForest& forest, uint32_t root);
  void Describe(Pattern& pattern, std::span<const Call> calls, const PathForest& forest,
                uint32_t root);
  void CountInstance(Pattern& pattern, std::span<const Call> calls, const PathForest& forest,
                     uint32_t root);
  void CountTime(Pattern& pattern, Nanos began, Nanos latency);
  void ForgetRarest();

  const StringTable& names_;
  const KeepDistributions keep_;
  std::vector<uint64_t> name_hashes_;
  std::deque<Pattern> patterns_;
  std::unordered_map<uint64_t, Pattern*> by_id_;
  uint64_t paths_ = 0, forgotten_patterns_ = 0, forgotten_paths_ = 0;
  size_t exact_values_ = 0;
  Nanos timeline_start_ = 0, timeline_span_ = kMilli;
  bool timeline_started_ = false;
  std::array<TimeSpan, PatternTimeline::kSpans> timeline_{};

  // Of the calls at hand.
  std::vector<uint64_t> hashes_;
  std::vector<Nanos> steps_;          // of all calls: those of call c begin at forest.first[c] + c
  std::vector<uint8_t> after_reply_;  // by call
  std::vector<uint32_t> walk_;
};

}  // namespace wf::paths
