#include "analysis/critical_path/path_graph.h"

#include <numeric>

namespace wf::critical_path {
namespace {

// The edge ties begin to begin or end to end of a block and its parent: nesting says as much.
bool OnlyParentage(const Trace& trace, const Edge& edge) {
  const uint32_t from = trace.points[edge.from].block, to = trace.points[edge.to].block;
  if (trace.blocks[to].parent == from)
    return trace.blocks[from].begin_point == edge.from && trace.blocks[to].begin_point == edge.to;
  if (trace.blocks[from].parent == to)
    return trace.blocks[from].end_point == edge.from && trace.blocks[to].end_point == edge.to;
  return false;
}

}  // namespace

PathGraph::PathGraph(const Trace& t) : trace(t) {
  const size_t n = t.blocks.size();
  in_begin.assign(n + 1, 0);
  out_begin.assign(n + 1, 0);
  request_of.assign(n, kNone);
  response_of.assign(n, kNone);
  std::vector<uint32_t> kept;
  for (uint32_t e = 0; e < t.edges.size(); ++e) {
    const Edge& edge = t.edges[e];
    if (OnlyParentage(t, edge)) {
      if (edge.type == EdgeType::kRequest) request_of[receiver(e)] = e;
      if (edge.type == EdgeType::kResponse) response_of[sender(e)] = e;
      continue;
    }
    kept.push_back(e);
    ++in_begin[receiver(e) + 1];
    ++out_begin[sender(e) + 1];
  }
  std::partial_sum(in_begin.begin(), in_begin.end(), in_begin.begin());
  std::partial_sum(out_begin.begin(), out_begin.end(), out_begin.begin());
  in.resize(kept.size());
  out.resize(kept.size());
  std::vector<uint32_t> next_in(in_begin.begin(), in_begin.end() - 1);
  std::vector<uint32_t> next_out(out_begin.begin(), out_begin.end() - 1);
  for (const uint32_t e : kept) {
    in[next_in[receiver(e)]++] = e;
    out[next_out[sender(e)]++] = e;
  }
}

uint32_t PathGraph::FirstLink(uint32_t b) const {
  const Block& from = trace.blocks[b];
  if (from.row == kNone || trace.events->links(from.row).empty()) return kNone;
  if (block_by_id_.size() == 0) {
    block_by_id_.Reserve(trace.blocks.size());
    for (uint32_t i = 0; i < trace.blocks.size(); ++i) block_by_id_.Insert(trace.blocks[i].id, i);
  }
  LinkReader links(trace.events->links(from.row));
  for (PackedLink link; links.Next(link);) {
    if (link.trace_id != trace.id) continue;
    const uint32_t to = block_by_id_.Find(link.span_id.value);
    if (to != kNone && to != b && trace.blocks[to].start_ns <= from.start_ns) return to;
  }
  return kNone;
}

std::string_view PathCategoryName(PathCategory category) {
  static constexpr std::string_view kNames[] = {"self", "network", "blocked", "queue", "unknown"};
  return kNames[static_cast<size_t>(category)];
}

PathCategory OwnCategory(const Trace& trace, uint32_t b) {
  const Block& block = trace.blocks[b];
  if (block.stand_in()) return PathCategory::kUnknown;
  if (block.kind == BlockKind::kWait) return PathCategory::kQueue;
  if (block.kind != BlockKind::kClient) return PathCategory::kSelf;
  for (uint32_t i = trace.children_begin[b]; i < trace.children_begin[b + 1]; ++i) {
    if (trace.blocks[trace.children[i]].kind == BlockKind::kServer) return PathCategory::kNetwork;
  }
  return PathCategory::kBlocked;
}

PathCategory TransitCategory(EdgeType type) {
  switch (type) {
    case EdgeType::kRequest:
    case EdgeType::kResponse:
      return PathCategory::kNetwork;
    case EdgeType::kOneWay:
    case EdgeType::kLink:
    case EdgeType::kQueue:
    case EdgeType::kDequeue:
    case EdgeType::kLock:
    case EdgeType::kRpcQueue:
    case EdgeType::kContinuation:  // it waits in its executor's queue until it is run
      return PathCategory::kQueue;
    case EdgeType::kCall:
    case EdgeType::kReturn:
    case EdgeType::kJoin:
    case EdgeType::kResource:  // like a call whose server has no span
    case EdgeType::kEdge:
      return PathCategory::kBlocked;
  }
  return PathCategory::kBlocked;
}

}  // namespace wf::critical_path
