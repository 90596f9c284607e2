#include "analysis/paths/pattern_insight.h"

#include <algorithm>
#include <map>
#include <utility>

namespace wf::paths {
namespace {

constexpr uint64_t kRare = 100;        // at most one in this many
constexpr uint64_t kFewRequests = 20;  // fewer paths have no usual time
constexpr size_t kPhases = 8;
constexpr uint64_t kPhaseCount = 10;  // fewer instances may well fall together by chance

}  // namespace

std::vector<const Pattern*> InOrder(const PatternTable& table, PatternOrder order) {
  std::vector<const Pattern*> sorted;
  for (const Pattern& pattern : table.patterns()) sorted.push_back(&pattern);
  std::sort(sorted.begin(), sorted.end(), [order](const Pattern* a, const Pattern* b) {
    const bool by_count = order == PatternOrder::kCount;
    if (by_count && a->count != b->count) return a->count > b->count;
    if (a->total_latency != b->total_latency) return a->total_latency > b->total_latency;
    if (a->count != b->count) return a->count > b->count;
    return a->id < b->id;
  });
  return sorted;
}

std::vector<RareSlowPattern> FindRareSlow(const PatternTable& table) {
  struct Entry {
    std::vector<std::pair<Nanos, uint64_t>> medians;  // of each pattern, with its count
    uint64_t count = 0;
    Nanos usual = 0;
  };
  std::map<std::pair<NodeId, NodeId>, Entry> entries;
  for (const Pattern& pattern : table.patterns()) {
    Entry& entry = entries[{pattern.client, pattern.root().node}];
    entry.medians.emplace_back(pattern.latency.Quantile(0.5), pattern.count);
    entry.count += pattern.count;
  }
  for (auto& [key, entry] : entries) {
    std::sort(entry.medians.begin(), entry.medians.end());
    uint64_t below = 0;
    for (const auto& [median, count] : entry.medians) {
      below += count;
      entry.usual = median;
      if (2 * below >= entry.count) break;
    }
  }
  std::vector<RareSlowPattern> found;
  for (const Pattern& pattern : table.patterns()) {
    const Entry& entry = entries[{pattern.client, pattern.root().node}];
    if (entry.count < kFewRequests || pattern.count * kRare > entry.count) continue;
    if (entry.usual <= 0 || pattern.MeanLatency() < 2 * entry.usual) continue;
    found.push_back({&pattern, entry.usual, entry.count});
  }
  const auto excess = [](const RareSlowPattern& one) {
    return one.pattern->total_latency - WideSum{one.usual_ns} * one.pattern->count;
  };
  std::sort(found.begin(), found.end(), [&](const RareSlowPattern& a, const RareSlowPattern& b) {
    return excess(a) != excess(b) ? excess(a) > excess(b) : a.pattern->id < b.pattern->id;
  });
  return found;
}

PatternPhases::PatternPhases(const PatternTable& table)
    : start_(table.timeline_start()), span_(table.timeline_span()) {
  for (const Pattern& pattern : table.patterns())
    for (size_t i = 0; i < all_.size(); ++i) all_[i] += pattern.timeline.counts[i];
  for (size_t i = 0; i < all_.size(); ++i)
    if (all_[i] > 0) used_ = i + 1;
}

std::optional<PatternPhase> PatternPhases::Of(const Pattern& pattern) const {
  const size_t width = used_ / kPhases;
  if (width == 0 || pattern.count < kPhaseCount) return std::nullopt;
  const auto sum = [&](const auto& counts, size_t from) {
    uint64_t total = 0;
    for (size_t i = from; i < from + width; ++i) total += counts[i];
    return total;
  };
  size_t best = 0;
  for (size_t from = 1; from + width <= used_; ++from)
    if (sum(pattern.timeline.counts, from) > sum(pattern.timeline.counts, best)) best = from;
  PatternPhase phase;
  phase.count = sum(pattern.timeline.counts, best);
  phase.among = sum(all_, best);
  phase.from_ns = start_ + static_cast<Nanos>(best) * span_;
  phase.until_ns = phase.from_ns + static_cast<Nanos>(width) * span_;
  uint64_t paths = 0;
  for (const uint64_t count : all_) paths += count;
  const bool concentrated = 10 * phase.count >= 9 * pattern.count;
  const bool frequent = phase.count * 100 >= phase.among;
  const bool others_elsewhere = 2 * phase.among < paths;
  if (!concentrated || !frequent || !others_elsewhere) return std::nullopt;
  return phase;
}

WideSum OwnTime(const Pattern& pattern, uint32_t node) {
  const PatternNode& at = pattern.nodes[node];
  WideSum own = 0;
  for (uint32_t s = 0; s <= at.children; ++s) own += pattern.steps[at.first_step + s];
  return own;
}

uint32_t SlowestNode(const Pattern& pattern) {
  uint32_t slowest = 0;
  for (uint32_t n = 1; n < pattern.nodes.size(); ++n)
    if (OwnTime(pattern, n) > OwnTime(pattern, slowest)) slowest = n;
  return slowest;
}

MergedGraph MergePatterns(const PatternTable& table) {
  std::map<NodeId, MergedNode> nodes;
  std::map<NodeId, uint64_t> paths_of_client;
  std::map<std::pair<NodeId, NodeId>, MergedEdge> starts, calls;
  for (const Pattern& pattern : table.patterns()) {
    MergedEdge& start = starts[{pattern.client, pattern.root().node}];
    start.calls += pattern.count;
    start.visits_calling += pattern.count;
    paths_of_client[pattern.client] += pattern.count;
    for (uint32_t n = 0; n < pattern.nodes.size(); ++n) {
      const PatternNode& at = pattern.nodes[n];
      MergedNode& node = nodes[at.node];
      node.visits += pattern.count;
      node.latency += at.latency;
      node.own += OwnTime(pattern, n);
      std::vector<NodeId> called;
      for (uint32_t c = at.first_child; c < at.first_child + at.children; ++c) {
        const PatternNode& child = pattern.nodes[c];
        MergedEdge& edge = calls[{at.node, child.node}];
        edge.calls += pattern.count;
        edge.call_delay += child.call_delay;
        if (std::find(called.begin(), called.end(), child.node) != called.end()) continue;
        called.push_back(child.node);
        edge.visits_calling += pattern.count;
      }
    }
  }
  MergedGraph graph;
  for (auto& [id, node] : nodes) {
    node.node = id;
    graph.nodes.push_back(node);
  }
  const auto add = [&](auto& edges, bool starts_path) {
    for (auto& [ends, edge] : edges) {
      edge.from = ends.first;
      edge.to = ends.second;
      edge.starts_path = starts_path;
      const uint64_t visits = starts_path ? paths_of_client[edge.from] : nodes[edge.from].visits;
      edge.probability = static_cast<double>(edge.visits_calling) / static_cast<double>(visits);
      graph.edges.push_back(edge);
    }
  };
  add(starts, true);
  add(calls, false);
  std::stable_sort(graph.nodes.begin(), graph.nodes.end(),
                   [](const MergedNode& a, const MergedNode& b) { return a.own > b.own; });
  std::stable_sort(graph.edges.begin(), graph.edges.end(),
                   [](const MergedEdge& a, const MergedEdge& b) { return a.calls > b.calls; });
  return graph;
}

}  // namespace wf::paths
