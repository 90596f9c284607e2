// Bare edges (Canopy §5.3, figure 11 e): any two blocks tell of a one-way communication, the sender by edge_begin,
// the receiver by edge_end. One-way calls, several responses, streams and publishing are all sets of such edges.
#include <algorithm>

#include "model/event_handlers.h"

namespace wf {

std::vector<std::vector<uint32_t>> GroupById(const BuildState& state,
                                             const std::vector<uint32_t>& rows) {
  std::vector<uint32_t> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    return state.events.id1[a] < state.events.id1[b];
  });
  std::vector<std::vector<uint32_t>> groups;
  for (const uint32_t row : sorted) {
    if (groups.empty() || state.events.id1[groups.back()[0]] != state.events.id1[row])
      groups.emplace_back();
    groups.back().push_back(row);
  }
  return groups;
}

std::vector<std::pair<uint32_t, uint32_t>> PairEnds(size_t sends, size_t receives) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  if (sends == 0 || receives == 0) return pairs;
  for (size_t i = 0; i < std::max(sends, receives); ++i) {
    pairs.emplace_back(std::min(i, sends - 1), std::min(i, receives - 1));
  }
  return pairs;
}

namespace {

struct NamedType {
  std::string_view name;
  EdgeType type;
  bool blocking;
};
constexpr NamedType kNamedTypes[] = {
    {"request", EdgeType::kRequest, false},   {"response", EdgeType::kResponse, true},
    {"call", EdgeType::kCall, false},         {"return", EdgeType::kReturn, true},
    {"one_way", EdgeType::kOneWay, false},    {"queue", EdgeType::kQueue, false},
    {"dequeue", EdgeType::kDequeue, true},    {"lock", EdgeType::kLock, true},
    {"join", EdgeType::kJoin, true},          {"continuation", EdgeType::kContinuation, true},
    {"rpc_queue", EdgeType::kRpcQueue, true}, {"resource", EdgeType::kResource, true}};

// The type an end gives its edge: label:type, else the event's name; label:blocking, true or false, says whether
// its receiver waited for it, where the type does not know: a page does not wait for its pictures.
void DescribeEdge(BuildState& state, Edge& edge, uint32_t row) {
  uint32_t name = state.Label(row, "type");
  if (name == 0) name = state.NameOf(row);
  if (name != 0) {
    edge.name = name;
    edge.type = EdgeType::kEdge;
    for (const NamedType& known : kNamedTypes) {
      if (known.name != state.trace.str(name)) continue;
      edge.name = 0;
      edge.type = known.type;
      edge.blocking = known.blocking;
    }
  }
  const std::string_view blocking = state.trace.str(state.Label(row, "blocking"));
  if (blocking == "true" || blocking == "false") edge.blocking = blocking == "true";
}

}  // namespace

void HandleEdge(BuildState& state, uint32_t row) { state.edge_rows.push_back(row); }

void RelateEdges(BuildState& state) {
  const EventBatch& events = state.events;
  for (const auto& group : GroupById(state, state.edge_rows)) {
    const uint64_t id = events.id1[group[0]];
    std::vector<uint32_t> sends, receives, send_points, receive_points;
    for (const uint32_t row : group) {
      const uint32_t point = state.AddEventPoint(state.BlockFor(events.id2[row], row), row);
      const bool send = events.type[row] == EventType::kEdgeBegin;
      (send ? sends : receives).push_back(row);
      (send ? send_points : receive_points).push_back(point);
    }
    if (sends.empty() || receives.empty()) {
      state.Record(ElementKind::kEdge, id, RepairPass::kHalfEdge, {}, {});
      state.RecordMissing(sends.empty() ? MissingWhat::kSend : MissingWhat::kReceive, id);
      const auto& points = sends.empty() ? receive_points : send_points;
      for (size_t i = 0; i < points.size(); ++i)
        state.Annotate(ElementKind::kPoint, points[i], group[i]);
      continue;
    }
    uint64_t ordinal = 0;
    for (const auto& [from, to] : PairEnds(sends.size(), receives.size())) {
      const uint64_t edge_id = ordinal == 0 ? id : DeriveId(id + ordinal, kRoleEdge);
      const uint32_t e =
          state.AddEdge(send_points[from], receive_points[to], EdgeType::kEdge, false, edge_id);
      DescribeEdge(state, state.trace.edges[e], sends[from]);
      DescribeEdge(state, state.trace.edges[e], receives[to]);
      state.trace.edges[e].source = events.source_of(receives[to]);
      state.trace.edges[e].probability =
          std::min(events.probability_of(sends[from]), events.probability_of(receives[to]));
      state.Annotate(ElementKind::kEdge, e, sends[from]);
      state.Annotate(ElementKind::kEdge, e, receives[to]);
      state.Enter(e);
      if (ordinal++ == 0) state.edge_by_id.Insert(id, e);
    }
  }
}

}  // namespace wf
