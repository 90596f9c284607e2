// Units and edges that follow from parentage. A unit is what parent-linked spans of one process and thread make up.
// Edges show what nesting within a unit does not: begins to begins, ends to ends, because a parent reference conveys
// hierarchy and no finer timing (Canopy §5.3, "Other Integrations").
#include <algorithm>

#include "model/repair_passes.h"

namespace wf {

void AssignUnits(BuildState& state) {
  Trace& trace = state.trace;
  for (const uint32_t b : state.order) {
    Block& block = trace.blocks[b];
    if (block.unit != kNone) continue;
    if (block.parent != kNone) {
      const Block& parent = trace.blocks[block.parent];
      if (!(block.marks &
            kBlockUnlinked)) {  // a wait, work or hold lies in the unit of the block it happened in
        block.unit = parent.unit;
        continue;
      }
      if (parent.row != kNone && (parent.marks & kBlockUnlinked) &&
          parent.process == block.process && parent.thread == block.thread) {
        block.unit = parent.unit;
        continue;
      }
    }
    const uint32_t u = state.AddUnit(DeriveId(block.id, kRoleUnit), block.row);
    trace.units[u].parent_block = block.parent;
    trace.units[u].thread = block.thread;
    block.unit = u;
  }
}

namespace {

// The callee cannot have been waited for to its end if it ran longer than the whole call; durations do not depend
// on how two clocks differ. A time-out is the usual case.
bool CallerSawEnd(const BuildState& state, const Block& caller, const Block& callee) {
  if (callee.duration() > caller.duration()) return false;
  const bool same_clock = state.host_of(caller) == state.host_of(callee) || caller.stand_in();
  const Nanos error =
      same_clock ? 0 : SaturatingAdd(state.ClockError(caller), state.ClockError(callee));
  return callee.end_ns <= SaturatingAdd(caller.end_ns, error);
}

void RelateToParent(BuildState& state, uint32_t b) {
  Trace& trace = state.trace;
  Block& block = trace.blocks[b];
  const Block& parent = trace.blocks[block.parent];
  const bool consumes = block.kind == BlockKind::kConsumer && parent.kind != BlockKind::kConsumer;
  const bool one_way = consumes || block.reference == ParentRef::kFollowsFrom || block.async();
  if (one_way) block.marks |= kBlockAsync;
  // Nothing tells what a stand-in waited for: for all below it.
  if (parent.stand_in()) block.marks &= static_cast<uint8_t>(~kBlockAsync);
  if (state.entered[b]) return;  // recorded edges say more
  if (one_way) {
    state.AddEdge(parent.begin_point, block.begin_point, EdgeType::kOneWay, false);
    return;
  }
  const bool remote = parent.kind == BlockKind::kClient && block.kind == BlockKind::kServer;
  if (!remote && parent.unit == block.unit) return;
  state.AddEdge(parent.begin_point, block.begin_point,
                remote ? EdgeType::kRequest : EdgeType::kCall, false);
  if (CallerSawEnd(state, parent, block)) {
    state.AddEdge(block.end_point, parent.end_point,
                  remote ? EdgeType::kResponse : EdgeType::kReturn, true);
  } else {
    state.Record(ElementKind::kBlock, block.id, RepairPass::kNoResponse,
                 RepairValue::Time(block.end_ns), RepairValue::Time(parent.end_ns));
  }
}

void RelateLinks(BuildState& state, uint32_t b) {
  Trace& trace = state.trace;
  LinkReader links(state.events.links(trace.blocks[b].row));
  for (PackedLink link; links.Next(link);) {
    if (link.trace_id != trace.id) continue;
    const uint32_t from = state.block_by_id.Find(link.span_id.value);
    if (from == kNone || from == b) continue;
    const Block& cause = trace.blocks[from];
    const Block& block = trace.blocks[b];
    // A link may be added while the span runs: then what it names reached the span later than its begin.
    uint32_t to = block.begin_point;
    if (cause.start_ns > block.start_ns && state.host_of(cause) == state.host_of(block))
      to = block.end_point;
    if (to == block.end_point && cause.start_ns > block.end_ns)
      continue;  // no cause; still listed on the block
    state.AddEdge(cause.begin_point, to, EdgeType::kLink, false);
  }
}

}  // namespace

void RelateSpans(BuildState& state) {
  Trace& trace = state.trace;
  trace.edges.reserve(trace.edges.size() + trace.blocks.size());
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    if (trace.blocks[b].parent != kNone) RelateToParent(state, b);
    if (trace.blocks[b].row != kNone && !state.events.links(trace.blocks[b].row).empty())
      RelateLinks(state, b);
  }
}

void AdoptUnits(BuildState& state) {
  Trace& trace = state.trace;
  if (state.unit_by_id.size() == 0) return;
  const auto parentless = [&](uint32_t b) {
    const Block& block = trace.blocks[b];
    return block.unit != kNone && block.row != kNone && !(block.marks & kBlockUnlinked) &&
           block.parent == kNone && state.parent_ids[b] == 0;
  };
  // Blocks at the top of a unit belong to what caused the unit.
  std::vector<uint32_t> first(trace.units.size(), kNone);
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    if (!parentless(b)) continue;
    Block& block = trace.blocks[b];
    state.parent_ids[b] = state.unit_parent_ids[block.unit];
    if (state.parent_ids[b] != 0) {
      block.reference = ParentRef::kChildOf;
      continue;
    }
    uint32_t& at = first[block.unit];
    if (at == kNone || std::make_pair(block.start_ns, block.id) <
                           std::make_pair(trace.blocks[at].start_ns, trace.blocks[at].id)) {
      at = b;
    }
  }
  // A unit that names no cause was caused by whoever sent the first edge into its first block, if that was at work
  // before the unit began: a response is received by who asked, not by who was caused.
  std::vector<uint32_t> entry(trace.blocks.size(), kNone);
  for (uint32_t e = 0; e < trace.edges.size(); ++e) {
    const Point& to = trace.points[trace.edges[e].to];
    const Block& sender = trace.blocks[trace.points[trace.edges[e].from].block];
    const Block& receiver = trace.blocks[to.block];
    if (sender.unit == receiver.unit || sender.start_ns > receiver.start_ns) continue;
    uint32_t& known = entry[to.block];
    if (known == kNone || trace.points[trace.edges[known].to].time_ns > to.time_ns) known = e;
  }
  std::vector<uint32_t> cause(trace.units.size(), kNone);
  for (uint32_t u = 0; u < trace.units.size(); ++u) {
    if (first[u] == kNone || entry[first[u]] == kNone) continue;
    cause[u] = trace.points[trace.edges[entry[first[u]]].from].block;
    trace.units[u].parent_block = cause[u];
  }
  for (uint32_t b = 0; b < trace.blocks.size(); ++b) {
    if (!parentless(b) || cause[trace.blocks[b].unit] == kNone) continue;
    Block& block = trace.blocks[b];
    block.parent = cause[block.unit];
    block.reference = ParentRef::kChildOf;
    block.marks |= kBlockAsync;  // the edges say who waits for whom
    state.entered[b] = 1;
  }
}

}  // namespace wf
