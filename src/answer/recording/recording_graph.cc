#include "answer/recording/recording_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace wf::answer {
namespace {

using recorder::SubId;

// --around shows so many: what fits on a screen.
constexpr size_t kNeighbours = 60;

// Nearest first along edges of every kind and both directions, by thread and index where equally near.
std::vector<bool> Neighbours(const OpenedRecording& opened, const std::vector<GraphEdge>& edges,
                             SubId centre) {
  std::unordered_map<SubId, std::vector<SubId>> beside;
  for (const GraphEdge& edge : edges) {
    beside[edge.from].push_back(edge.to);
    beside[edge.to].push_back(edge.from);
  }
  std::vector<bool> chosen(opened.recording().subs.size(), false);
  std::vector<SubId> queue{centre};
  chosen[centre] = true;
  for (size_t i = 0; i < queue.size() && queue.size() < kNeighbours; ++i) {
    std::vector<SubId>& next = beside[queue[i]];
    std::sort(next.begin(), next.end());
    for (const SubId sub : next) {
      if (chosen[sub] || queue.size() >= kNeighbours) continue;
      chosen[sub] = true;
      queue.push_back(sub);
    }
  }
  return chosen;
}

}  // namespace

std::string_view NameOf(GraphEdgeKind kind) {
  switch (kind) {
    case GraphEdgeKind::kControl:
      return "control";
    case GraphEdgeKind::kData:
      return "data";
    case GraphEdgeKind::kSync:
      return "sync";
  }
  return "";
}

Result<SelectedGraph> SelectGraph(OpenedRecording& opened, const GraphSelection& selection,
                                  GraphPages pages) {
  const recorder::Recording& r = opened.recording();
  std::vector<bool> chosen(r.subs.size(), true);
  for (const uint32_t thread : selection.threads) {
    if (thread >= r.threads.size())
      return NotFound(fmt::format("{}: no thread {}", r.file, thread),
                      fmt::format("it has {} threads, from 0", r.threads.size()));
  }
  for (SubId s = 0; s < r.subs.size(); ++s) {
    const recorder::SubComputation& sub = r.subs[s];
    if (!selection.threads.empty())
      chosen[s] = std::find(selection.threads.begin(), selection.threads.end(), sub.thread) !=
                  selection.threads.end();
    if (selection.window)
      chosen[s] = chosen[s] && sub.start_ns < selection.window->second &&
                  sub.end_ns >= selection.window->first;
  }
  SelectedGraph out;
  const auto both = [&](SubId a, SubId b) { return chosen[a] && chosen[b]; };
  for (SubId s = 1; s < r.subs.size(); ++s) {
    if (r.subs[s].thread == r.subs[s - 1].thread && both(s - 1, s))
      out.edges.push_back({s - 1, s, GraphEdgeKind::kControl, recorder::kNone, 0});
  }
  for (const lineage::SyncEdge& edge : opened.sync_edges()) {
    if (both(edge.from, edge.to))
      out.edges.push_back({edge.from, edge.to, GraphEdgeKind::kSync, edge.object, 0});
  }
  if (r.has(recorder::kData)) {
    WF_ASSIGN(const lineage::DataFlow* flow, opened.data_flow());
    out.data =
        lineage::ComputeDataEdges(*flow, pages == GraphPages::kLists ? lineage::EdgePages::kList
                                                                     : lineage::EdgePages::kCount);
    for (uint32_t i = 0; i < out.data.edges.size(); ++i) {
      const lineage::DataEdge& edge = out.data.edges[i];
      if (both(edge.from, edge.to))
        out.edges.push_back({edge.from, edge.to, GraphEdgeKind::kData, recorder::kNone, i});
    }
  }
  if (selection.around) {
    if (!chosen[*selection.around])
      return NotFound(
          fmt::format("{}: outside --thread and --window", opened.SubNameOf(*selection.around)),
          "leave one of them out");
    chosen = Neighbours(opened, out.edges, *selection.around);
    out.edges.erase(std::remove_if(out.edges.begin(), out.edges.end(),
                                   [&](const GraphEdge& e) { return !both(e.from, e.to); }),
                    out.edges.end());
  }
  for (SubId s = 0; s < r.subs.size(); ++s) {
    if (chosen[s]) out.subs.push_back(s);
  }
  std::sort(out.edges.begin(), out.edges.end(), [](const GraphEdge& a, const GraphEdge& b) {
    return std::tie(a.from, a.to, a.kind, a.object) < std::tie(b.from, b.to, b.kind, b.object);
  });
  return out;
}

}  // namespace wf::answer
