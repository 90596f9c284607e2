#include <algorithm>

#include "model/repair_passes.h"

namespace wf {
namespace {

// A repaired instant by the block's own recording clock: what the block's clock was off by at its start (or end).
Nanos ToRaw(const Block& block, Nanos aligned) {
  if (!(block.marks & kBlockNoStart))
    return SaturatingAdd(aligned, SaturatingSub(block.raw_start_ns, block.start_ns));
  if (!(block.marks & kBlockNoEnd))
    return SaturatingAdd(aligned, SaturatingSub(block.raw_end_ns, block.end_ns));
  return aligned;
}

struct Extent {
  Nanos from = INT64_MAX, to = INT64_MIN;
  bool empty() const { return from > to; }
  void Cover(Nanos a, Nanos b) {
    from = std::min(from, a);
    to = std::max(to, b);
  }
};

void MendBlock(BuildState& state, Block& block, Extent below, Extent below_raw) {
  const bool no_start = block.marks & kBlockNoStart, no_end = block.marks & kBlockNoEnd;
  // Stand-ins and blocks known only by what happened in them were counted when they were made.
  const bool made_up = block.row == kNone;
  if (made_up) {
    if (!no_start && !no_end) {  // a callee that only its caller saw
      below.Cover(block.start_ns, std::max(block.start_ns, block.end_ns));
      below_raw.Cover(block.raw_start_ns, std::max(block.raw_start_ns, block.raw_end_ns));
    }
    if (below.empty()) return;
    block.start_ns = below.from, block.end_ns = below.to;
    block.raw_start_ns = below_raw.from, block.raw_end_ns = below_raw.to;
    return;
  }
  if (no_start && !no_end) {
    block.start_ns = below.empty() ? block.end_ns : std::min(below.from, block.end_ns);
    block.raw_start_ns = ToRaw(block, block.start_ns);
  } else if (no_start && !below.empty()) {
    block.start_ns = below.from;
    block.raw_start_ns = below_raw.from;
  }
  if (no_start) {
    block.marks |= kBlockRepaired;
    state.Record(ElementKind::kBlock, block.id, RepairPass::kMissingBegin, {},
                 RepairValue::Time(block.start_ns));
    state.RecordMissing(MissingWhat::kBegin, block.id);
  }
  if (no_end) {
    block.end_ns = below.empty() ? block.start_ns : below.to;
    block.raw_end_ns = no_start && !below.empty() ? below_raw.to : ToRaw(block, block.end_ns);
    block.marks |= kBlockRepaired;
    state.Record(ElementKind::kBlock, block.id, RepairPass::kMissingEnd, {},
                 RepairValue::Time(block.end_ns));
    state.RecordMissing(MissingWhat::kEnd, block.id);
  }
  if (block.end_ns < block.start_ns) {
    // The recorded end is a value of the sender's clock; only that is worth keeping.
    if (!no_end) {
      state.Record(ElementKind::kBlock, block.id, RepairPass::kEndBeforeStart,
                   RepairValue::Time(block.raw_end_ns), RepairValue::Time(block.start_ns));
    }
    block.marks |= kBlockRepaired;
    block.end_ns = block.start_ns;
    block.raw_end_ns = block.raw_start_ns;
  }
  if ((block.marks & kBlockRepaired) && block.source == Source::kRecorded)
    block.source = Source::kRepaired;
}

}  // namespace

void MendTimes(BuildState& state) {
  Trace& trace = state.trace;
  const size_t n = trace.blocks.size();
  // `below`: of all descendants; `children`: of the children alone, for stand-ins.
  std::vector<Extent> below(n), below_raw(n), children(n), children_raw(n);
  // What happened in a block that events describe piece by piece bounds it too; a span says its own bounds.
  for (const Point& point : trace.points) {
    if (point.type != PointType::kOfEvent && point.event != EventType::kPoint) continue;
    if (trace.blocks[point.block].marks & kBlockUnlinked) continue;
    for (auto* extent : {&below, &children})
      (*extent)[point.block].Cover(point.time_ns, point.time_ns);
    for (auto* extent : {&below_raw, &children_raw}) {
      (*extent)[point.block].Cover(point.raw_time_ns, point.raw_time_ns);
    }
  }
  for (size_t i = n; i-- > 0;) {
    const uint32_t b = state.order[i];
    Block& block = trace.blocks[b];
    const bool covers_children = block.row == kNone;
    MendBlock(state, block, covers_children ? children[b] : below[b],
              covers_children ? children_raw[b] : below_raw[b]);
    if (block.parent == kNone) continue;
    children[block.parent].Cover(block.start_ns, block.end_ns);
    children_raw[block.parent].Cover(block.raw_start_ns, block.raw_end_ns);
    below[b].Cover(block.start_ns, block.end_ns);
    below_raw[b].Cover(block.raw_start_ns, block.raw_end_ns);
    below[block.parent].Cover(below[b].from, below[b].to);
    below_raw[block.parent].Cover(below_raw[b].from, below_raw[b].to);
  }
}

void MendPoints(BuildState& state) {
  Trace& trace = state.trace;
  for (Block& block : trace.blocks) {
    Point& begin = trace.points[block.begin_point];
    begin.id = DeriveId(block.id, kRoleBegin);
    begin.time_ns = block.start_ns;
    begin.raw_time_ns = block.raw_start_ns;
    Point& end = trace.points[block.end_point];
    end.id = DeriveId(block.id, kRoleEnd);
    end.time_ns = block.end_ns;
    end.raw_time_ns = block.raw_end_ns;
  }
  // Span events are told apart by their place in their block, whose id is final only now: of several spans with one
  // id all but one were given another.
  std::vector<uint32_t> seen(trace.blocks.size(), 0);
  for (Point& point : trace.points) {
    const Block& block = trace.blocks[point.block];
    if (point.type == PointType::kEvent) {
      point.id = DeriveId(DeriveId(block.id, kRoleEvent) + seen[point.block]++, kRoleEvent);
    }
    const Nanos inside = std::clamp(point.time_ns, block.start_ns, block.end_ns);
    if (inside == point.time_ns) continue;
    state.Record(ElementKind::kPoint, point.id, RepairPass::kStrayPoint,
                 RepairValue::Time(point.raw_time_ns), RepairValue::Time(inside));
    point.time_ns = inside;
  }
}

void MendUnits(BuildState& state) {
  Trace& trace = state.trace;
  std::vector<Extent> extent(trace.units.size()), raw(trace.units.size());
  for (const Block& block : trace.blocks) {
    extent[block.unit].Cover(block.start_ns, block.end_ns);
    raw[block.unit].Cover(block.raw_start_ns, block.raw_end_ns);
    Unit& unit = trace.units[block.unit];
    unit.received_ns = std::max(unit.received_ns, block.received_ns);
    const bool enters = block.parent != kNone && trace.blocks[block.parent].unit != block.unit;
    if (enters && unit.parent_block == kNone && state.queue_units.Find(unit.id) == kNone) {
      unit.parent_block = block.parent;
    }
  }
  for (size_t u = 0; u < trace.units.size(); ++u) {
    Unit& unit = trace.units[u];
    const bool recorded = state.unit_by_id.Find(unit.id) == u;
    if (!recorded) {
      unit.start_ns = extent[u].from, unit.end_ns = extent[u].to;
      unit.raw_start_ns = raw[u].from, unit.raw_end_ns = raw[u].to;
      continue;
    }
    // INT64_MAX / INT64_MIN: no begin / no end was recorded.
    const bool no_start = unit.start_ns == INT64_MAX, no_end = unit.end_ns == INT64_MIN;
    if (no_start) {
      unit.start_ns = !extent[u].empty() ? extent[u].from : no_end ? 0 : unit.end_ns;
      unit.raw_start_ns = !raw[u].empty() ? raw[u].from : no_end ? 0 : unit.raw_end_ns;
    }
    if (no_end) {
      unit.end_ns = extent[u].empty() ? unit.start_ns : std::max(unit.start_ns, extent[u].to);
      unit.raw_end_ns = raw[u].empty() ? unit.raw_start_ns : std::max(unit.raw_start_ns, raw[u].to);
      if (unit.source == Source::kRecorded) {
        unit.source = Source::kRepaired;
        state.Record(ElementKind::kUnit, unit.id, RepairPass::kMissingEnd, {},
                     RepairValue::Time(unit.end_ns));
        state.RecordMissing(MissingWhat::kEnd, unit.id);
      }
    }
    if (unit.end_ns < unit.start_ns) {
      state.Record(ElementKind::kUnit, unit.id, RepairPass::kEndBeforeStart,
                   RepairValue::Time(unit.raw_end_ns), RepairValue::Time(unit.start_ns));
      unit.end_ns = unit.start_ns;
      unit.raw_end_ns = unit.raw_start_ns;
    }
  }
}

}  // namespace wf
