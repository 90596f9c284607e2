// Path patterns: paths that are equal as trees of names with unordered children, counted together with the
// time that each node took (Aguilera et al. §5.1.1.4).
//
// Children with equal subtrees are matched by the time of their call: the first of one path with the first of
// another. Every step inside a node is kept separately: before the first call, between calls, after the last
// return (figure 2). A step is the part of the node's own time that no child covers, so steps and covered
// time add up to the latency; calls that overlap have a step of 0 between them.
//
// Memory: a pattern takes about 100 bytes a node; beyond kMaxPatterns the rarest half is dropped, and
// counted. Thread safety: none.
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

__extension__ using WideSum = __int128;  // holds the nanoseconds of a hundred million calls

// sum / count, rounded to the nearest integer.
Nanos MeanOf(WideSum sum, uint64_t count);
Nanos HeldToNanos(WideSum sum);

struct PatternNode {
  NodeId node = 0;
  uint32_t parent = UINT32_MAX;
  uint32_t first_child = 0, children = 0;  // in Pattern::nodes, which is in breadth-first order
  uint32_t first_step = 0;                 // in Pattern::steps; children + 1 of them
  WideSum latency = 0, call_delay = 0;     // sums over the instances
  // How much longer a call takes at its caller than at this node: the link, in both directions. Only where
  // both ends were sighted; each difference is by one clock, so skew does not matter.
  WideSum link = 0;
  uint64_t after_reply = 0;  // instances in which it was called after its parent had replied
};

// How many instances began when, in spans of equal width. The width grows until all instances fit.
struct PatternTimeline {
  static constexpr size_t kSpans = 32;
  std::array<uint32_t, kSpans> counts{};
};

// How the delays of one node of a pattern are spread.
struct NodeDistribution {
  DelayHistogram latency, call_delay, own;
};

struct Pattern {
  uint64_t id = 0;  // from names and shape: the same in every run
  NodeId client = 0;
  uint64_t count = 0;
  WideSum total_latency = 0;
  LatencySample latency;
  std::vector<PatternNode> nodes;
  std::vector<WideSum> steps;
  Nanos first_ns = 0, last_ns = 0;  // when the earliest and the latest instance began
  PatternTimeline timeline;
  std::vector<NodeDistribution> distributions;  // by node; empty unless they are kept

  const PatternNode& root() const { return nodes.front(); }
  Nanos MeanLatency() const { return MeanOf(total_latency, count); }
};

// Distributions take about ten times the room of the means.
enum class KeepDistributions : uint8_t { kNo, kYes };

class PatternTable {
 public:
  static constexpr size_t kMaxPatterns = 131'072;
  // Max number of exact latencies over all patterns; beyond it the most frequent pattern is the first to move
  // to bins.
  static constexpr size_t kMaxExactValues = 32'000'000;

  // `names` is borrowed, and may grow.
  explicit PatternTable(const StringTable& names, KeepDistributions keep = KeepDistributions::kNo)
      : names_(names), keep_(keep) {}

  // The paths of `roots`. Reorders the children in `forest`.
  void Add(std::span<const Call> calls, PathForest& forest, std::span<const uint32_t> roots);
  // Frees the memory that only Add needs, which is proportional to all calls. Add may still be called.
  void ReleaseScratch();
  size_t MemoryBytes() const;

  const std::deque<Pattern>& patterns() const { return patterns_; }
  uint64_t paths() const { return paths_; }
  // Rare patterns dropped for lack of room, and how many instances they had.
  uint64_t forgotten_patterns() const { return forgotten_patterns_; }
  uint64_t forgotten_paths() const { return forgotten_paths_; }
  // All paths by when they began; latencies are sums.
  struct TimeSpan {
    uint64_t count = 0;
    WideSum latency = 0;
  };
  const std::array<TimeSpan, PatternTimeline::kSpans>& timeline() const { return timeline_; }
  // These hold for all patterns' timelines.
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

  // Scratch, for the calls of one Add.
  std::vector<uint64_t> hashes_;
  std::vector<Nanos> steps_;          // of all calls: those of call c begin at forest.first[c] + c
  std::vector<uint8_t> after_reply_;  // by call
  std::vector<uint32_t> walk_;
};

}  // namespace wf::paths
