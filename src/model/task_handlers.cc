// Continuations: work created in one block and run later in another. An edge leads from each creation to its run;
// who created it does not wait for it, who runs it had to wait until it was created.
#include "model/event_handlers.h"

namespace wf {

void HandleTask(BuildState& state, uint32_t row) { state.task_rows.push_back(row); }

void RelateTasks(BuildState& state) {
  const EventBatch& events = state.events;
  for (const auto& group : GroupById(state, state.task_rows)) {
    const uint64_t id = events.id1[group[0]];
    std::vector<uint32_t> creates, runs, create_points, run_points;
    for (const uint32_t row : group) {
      const bool create = events.type[row] == EventType::kTaskCreate;
      (create ? creates : runs).push_back(row);
      (create ? create_points : run_points)
          .push_back(state.AddEventPoint(state.BlockFor(events.id2[row], row), row));
    }
    if (creates.empty() || runs.empty()) {
      state.Record(ElementKind::kEdge, id, RepairPass::kHalfEdge, {}, {});
      state.RecordMissing(creates.empty() ? MissingWhat::kSend : MissingWhat::kReceive, id);
      const auto& points = creates.empty() ? run_points : create_points;
      for (size_t i = 0; i < points.size(); ++i)
        state.Annotate(ElementKind::kPoint, points[i], group[i]);
      continue;
    }
    uint64_t ordinal = 0;
    for (const auto& [from, to] : PairEnds(creates.size(), runs.size())) {
      const uint64_t edge_id = ordinal == 0 ? id : DeriveId(id + ordinal, kRoleEdge);
      const uint32_t e = state.AddEdge(create_points[from], run_points[to], EdgeType::kContinuation,
                                       true, edge_id);
      const uint32_t name = state.NameOf(creates[from]);
      if (name != 0) state.trace.points[run_points[to]].name = name;
      state.Annotate(ElementKind::kEdge, e, creates[from]);
      state.Annotate(ElementKind::kEdge, e, runs[to]);
      state.Enter(e);
      if (ordinal++ == 0) state.edge_by_id.Insert(id, e);
    }
  }
}

}  // namespace wf
