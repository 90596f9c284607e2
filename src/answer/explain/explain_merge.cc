#include "answer/explain/explain_merge.h"

#include <algorithm>
#include <set>

#include "analysis/provenance/blame.h"

namespace wf::answer {

std::vector<ExplanationKey> KeysOf(const provenance::Execution& x,
                                   const provenance::Explanation& explanation) {
  std::vector<ExplanationKey> keys;
  std::map<ExplanationKey, int> seen;
  for (const provenance::ExplanationVertex& vertex : explanation.vertices) {
    const uint32_t e = vertex.members[0];
    ExplanationKey key = {x.type[e],
                          std::string(x.str(x.node[e])),
                          std::string(x.str(x.name[e])),
                          std::string(x.str(x.origin[e])),
                          vertex.functional,
                          0};
    if (vertex.functional) std::get<5>(key) = seen[key]++;
    keys.push_back(std::move(key));
  }
  return keys;
}

MergedExplanations MergeExplanations(const provenance::Execution& x,
                                     const std::vector<provenance::Explanation>& explanations) {
  if (explanations.size() == 1) return {explanations[0], KeysOf(x, explanations[0])};
  provenance::Explanation merged;
  std::map<ExplanationKey, uint32_t> known;
  std::map<std::tuple<uint32_t, uint32_t, provenance::ExplanationEdgeKind>, Nanos> edges;
  uint32_t from = 0, root = 0;
  for (const provenance::Explanation& one : explanations) {
    merged.delay_ns += one.delay_ns;
    merged.sizes.raw += one.sizes.raw;
    merged.sizes.nonzero += one.sizes.nonzero;
    merged.sizes.pruned += one.sizes.pruned;
    if (one.what_if) {
      if (!merged.what_if) merged.what_if.emplace();
      // Every request replays the same execution.
      merged.what_if->matched = std::max(merged.what_if->matched, one.what_if->matched);
      merged.what_if->delay_ns += one.what_if->delay_ns;
    }
    const std::vector<ExplanationKey> keys = KeysOf(x, one);
    std::vector<uint32_t> at(one.vertices.size());
    for (size_t v = 0; v < one.vertices.size(); ++v) {
      const provenance::ExplanationVertex& vertex = one.vertices[v];
      const auto [place, added] =
          known.try_emplace(keys[v], static_cast<uint32_t>(merged.vertices.size()));
      at[v] = place->second;
      if (added) {
        merged.vertices.push_back(vertex);
      } else {
        provenance::ExplanationVertex& into = merged.vertices[at[v]];
        into.members.insert(into.members.end(), vertex.members.begin(), vertex.members.end());
        into.start_ns = std::min(into.start_ns, vertex.start_ns);
        into.end_ns = std::max(into.end_ns, vertex.end_ns);
        into.delay_ns += vertex.delay_ns;
        into.self_ns += vertex.self_ns;
        into.expired = into.expired || vertex.expired;
        // One event may have delayed several requests at once.
        into.intervals.insert(into.intervals.end(), vertex.intervals.begin(),
                              vertex.intervals.end());
        into.self_intervals.insert(into.self_intervals.end(), vertex.self_intervals.begin(),
                                   vertex.self_intervals.end());
        provenance::JoinIntervals(into.intervals);
        provenance::JoinIntervals(into.self_intervals);
      }
      if (&one != &explanations[0]) continue;
      const auto& members = vertex.members;
      if (std::count(members.begin(), members.end(), one.from) != 0) from = at[v];
      if (std::count(members.begin(), members.end(), one.root) != 0) root = at[v];
    }
    for (const provenance::ExplanationEdge& edge : one.edges) {
      if (at[edge.from] != at[edge.to])
        edges[{at[edge.from], at[edge.to], edge.kind}] += edge.delay_ns;
    }
  }
  // In the order of time, as any explanation.
  for (provenance::ExplanationVertex& vertex : merged.vertices) {
    std::sort(vertex.members.begin(), vertex.members.end());
    vertex.members.erase(std::unique(vertex.members.begin(), vertex.members.end()),
                         vertex.members.end());
  }
  std::vector<uint32_t> order(merged.vertices.size());
  for (uint32_t v = 0; v < order.size(); ++v) order[v] = v;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return provenance::ComesBefore(merged.vertices[a], merged.vertices[b]);
  });
  std::vector<uint32_t> position(order.size());
  std::vector<provenance::ExplanationVertex> sorted;
  for (uint32_t i = 0; i < order.size(); ++i) {
    position[order[i]] = i;
    sorted.push_back(std::move(merged.vertices[order[i]]));
  }
  // What delays one request may be another's own work.
  std::set<uint32_t> own;
  for (const provenance::ExplanationVertex& vertex : sorted)
    if (vertex.functional) own.insert(vertex.members[0]);
  for (provenance::ExplanationVertex& vertex : sorted)
    vertex.twin = !vertex.functional && own.count(vertex.members[0]) != 0;
  merged.vertices = std::move(sorted);
  for (const auto& [edge, delay] : edges) {
    const auto& [cause, effect, kind] = edge;
    merged.edges.push_back({position[cause], position[effect], kind, delay});
  }
  std::sort(merged.edges.begin(), merged.edges.end(),
            [](const provenance::ExplanationEdge& a, const provenance::ExplanationEdge& b) {
              return std::tie(a.from, a.to, a.kind) < std::tie(b.from, b.to, b.kind);
            });
  merged.sizes.aggregated = static_cast<int64_t>(merged.vertices.size());
  merged.from = merged.vertices[position[from]].members[0];
  merged.root = merged.vertices[position[root]].members[0];
  std::vector<ExplanationKey> keys(merged.vertices.size());
  for (const auto& [key, vertex] : known) keys[position[vertex]] = key;
  return {std::move(merged), std::move(keys)};
}

}  // namespace wf::answer
