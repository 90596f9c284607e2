// What must hold of every trace after repair. A violation means data that no repair may paper over, or our own bug:
// the trace is kept, shown and flagged, and not used for features.
#include <algorithm>

#include "model/repair_passes.h"

namespace wf {

void CheckInvariants(BuildState& state) {
  Trace& trace = state.trace;
  const auto violated = [&](Invariant invariant, uint64_t element) {
    trace.violations.push_back({invariant, element});
  };

  // No cycle: everything is reached from a root exactly once.
  size_t reached = 0;
  std::vector<uint32_t> stack(trace.roots.begin(), trace.roots.end());
  while (!stack.empty() && reached <= trace.blocks.size()) {
    const uint32_t b = stack.back();
    stack.pop_back();
    ++reached;
    stack.insert(stack.end(), trace.children.begin() + trace.children_begin[b],
                 trace.children.begin() + trace.children_begin[b + 1]);
  }
  if (reached != trace.blocks.size())
    violated(Invariant::kNoCycle, trace.blocks.empty() ? 0 : trace.blocks[0].id);

  for (const Block& block : trace.blocks) {
    if (block.unit >= trace.units.size()) violated(Invariant::kBlockInUnit, block.id);
  }
  for (const Point& point : trace.points) {
    const bool inside = point.block < trace.blocks.size() &&
                        point.time_ns >= trace.blocks[point.block].start_ns &&
                        point.time_ns <= trace.blocks[point.block].end_ns;
    if (!inside) violated(Invariant::kPointInBlock, point.id);
  }
  for (const Edge& edge : trace.edges) {
    if (edge.from >= trace.points.size() || edge.to >= trace.points.size()) {
      violated(Invariant::kEdgeEnds, edge.id);
      continue;
    }
    const Point& from = trace.points[edge.from];
    const Point& to = trace.points[edge.to];
    if (from.time_ns <= to.time_ns) continue;
    const Block& sender = trace.blocks[from.block];
    const Block& receiver = trace.blocks[to.block];
    const bool one_clock = state.host_of(sender) == state.host_of(receiver);
    const Nanos error =
        one_clock ? 0 : SaturatingAdd(state.ClockError(sender), state.ClockError(receiver));
    if (SaturatingSub(from.time_ns, to.time_ns) > error)
      violated(Invariant::kReceiveAfterSend, receiver.id);
  }
}

}  // namespace wf
