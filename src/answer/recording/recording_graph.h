// `cpg F graph`: the Concurrent Provenance Graph, or the part of it that was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/recording/opened_recording.h"

namespace wf::answer {

struct GraphSelection {
  std::vector<uint32_t> threads;                      // none: all
  std::optional<std::pair<int64_t, int64_t>> window;  // ns since the beginning: what runs then
  std::optional<recorder::SubId> around;              // its neighbours along edges, nearest first
  bool all() const { return threads.empty() && !window && !around; }
};

enum class GraphPages { kCounts, kLists };

enum class GraphEdgeKind : uint8_t { kControl, kData, kSync };  // in the order of their names
struct GraphEdge {
  recorder::SubId from = 0, to = 0;
  GraphEdgeKind kind = GraphEdgeKind::kControl;
  uint32_t object = recorder::kNone;  // kSync
  uint32_t data = 0;                  // kData: which of the data edges
};

// What is drawn or written.
struct SelectedGraph {
  std::vector<recorder::SubId> subs;
  std::vector<GraphEdge> edges;  // both ends selected; by from, to, kind, object
  lineage::DataEdges data;
};

// More vertices than this nobody can look at.
constexpr size_t kMostDrawnVertices = 5000;

Result<SelectedGraph> SelectGraph(OpenedRecording& opened, const GraphSelection& selection,
                                  GraphPages pages);

Status WriteGraphJson(OpenedRecording& opened, const GraphSelection& selection, GraphPages pages,
                      const PieceSink& sink);
// BadInput above kMostDrawnVertices, with the ways to ask for less.
Result<std::string> GraphDot(OpenedRecording& opened, const GraphSelection& selection);
Result<std::string> GraphSvg(OpenedRecording& opened, const GraphSelection& selection);
Result<std::string> GraphText(OpenedRecording& opened, const GraphSelection& selection);

// "data", "sync" or "control".
std::string_view NameOf(GraphEdgeKind kind);

}  // namespace wf::answer
