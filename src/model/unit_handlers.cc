// Units, blocks, points and annotations that events describe piece by piece.
#include <algorithm>

#include "model/event_handlers.h"

namespace wf {
namespace {

uint32_t KnownUnit(BuildState& state, uint32_t row) {
  const uint64_t id = state.events.id1[row];
  uint32_t u = state.unit_by_id.Find(id);
  if (u == kNone) {
    u = state.AddUnit(id, row);
    state.trace.units[u].start_ns = INT64_MAX;  // neither begun nor ended yet
    state.trace.units[u].end_ns = INT64_MIN;
    state.unit_by_id.Insert(id, u);
  }
  return u;
}

// What the process columns do not say, labels may.
void DescribeUnit(BuildState& state, uint32_t u, uint32_t row) {
  Unit& unit = state.trace.units[u];
  const uint32_t service = state.Label(row, "service"), host = state.Label(row, "host");
  const uint32_t thread = state.Label(row, "thread"), name = state.NameOf(row);
  if (service != 0) unit.service = service;
  if (host != 0 && unit.host == 0) unit.host = host;
  if (thread != 0) unit.thread = thread;
  if (unit.service == 0) unit.service = name;
  unit.name = name != 0 ? name : unit.service;
  if (unit.name == 0) unit.name = state.NameOrIdOf(row);
}

}  // namespace

void HandleUnitBegin(BuildState& state, uint32_t row) {
  const uint32_t u = KnownUnit(state, row);
  Unit& unit = state.trace.units[u];
  const Nanos raw = state.events.start_ns[row];
  if (unit.start_ns != INT64_MAX && unit.raw_start_ns <= raw)
    return;  // begun twice: the earlier one counts
  unit.raw_start_ns = raw;
  unit.start_ns = state.Align(state.ProcessOf(row), raw);
  unit.source = state.events.source_of(row);
  state.unit_parent_ids[u] = state.events.id2[row];
  DescribeUnit(state, u, row);
  state.Annotate(ElementKind::kUnit, u, row);
}

void HandleUnitEnd(BuildState& state, uint32_t row) {
  const uint32_t u = KnownUnit(state, row);
  Unit& unit = state.trace.units[u];
  unit.raw_end_ns = state.events.start_ns[row];
  unit.end_ns = state.Align(state.ProcessOf(row), unit.raw_end_ns);
  state.Annotate(ElementKind::kUnit, u, row);
}

void HandleBlockBegin(BuildState& state, uint32_t row) {
  const EventBatch& events = state.events;
  const uint64_t id = events.id1[row];
  uint32_t b = state.block_by_id.Find(id);
  const bool ended_already = b != kNone && state.trace.blocks[b].row != kNone &&
                             events.type[state.trace.blocks[b].row] == EventType::kBlockEnd &&
                             (state.trace.blocks[b].marks & kBlockNoStart);
  const uint32_t u = state.UnitFor(events.id2[row], row);
  if (b != kNone && !ended_already) {
    // Two blocks of one id. The later one gets an id of its own, as with spans.
    const uint64_t own = DeriveId(id ^ ContentHash(events, row).lo, kRoleDuplicate);
    state.Record(ElementKind::kBlock, own, RepairPass::kDuplicateId, RepairValue::Id(id),
                 RepairValue::Id(own));
    b = state.AddBlock(own, row);
    state.block_by_id.Insert(own, b);
    state.trace.blocks[b].marks = kBlockNoEnd;
  } else if (b == kNone) {
    b = state.AddBlock(id, row);
    state.block_by_id.Insert(id, b);
    state.trace.blocks[b].marks = kBlockNoEnd;
  }
  Block& block = state.trace.blocks[b];
  block.row = row;
  block.marks &= static_cast<uint8_t>(~kBlockNoStart);
  block.unit = u;
  block.raw_start_ns = events.start_ns[row];
  block.start_ns = state.Align(state.ProcessOf(row), block.raw_start_ns);
  block.name = state.NameOrIdOf(row);
  block.kind = static_cast<BlockKind>(events.kind[row]);
  block.status = events.status[row];
  block.status_message = events.status_message[row];
  auto& open = state.open_blocks[u];
  if (!open.empty()) {
    block.parent = open.back();
    block.reference = ParentRef::kChildOf;
  }
  if (!ended_already) open.push_back(b);
  if (state.trace.str(state.Label(row, "wherefore.async")) == "true") block.marks |= kBlockAsync;
  if (state.trace.str(state.Label(row, "wherefore.wait")) == "true") block.kind = BlockKind::kWait;
  state.Annotate(ElementKind::kBlock, b, row);
}

void HandleBlockEnd(BuildState& state, uint32_t row) {
  const EventBatch& events = state.events;
  const uint64_t id = events.id1[row];
  uint32_t b = state.block_by_id.Find(id);
  if (b == kNone) {
    b = state.AddBlock(id, row);
    state.block_by_id.Insert(id, b);
    Block& block = state.trace.blocks[b];
    block.marks = kBlockNoStart | kBlockNoEnd;
    block.unit = state.UnitFor(events.id2[row], row);
    block.name = state.NameOrIdOf(row);
    if (block.name == 0) block.name = state.trace.Intern("missing");
  }
  Block& block = state.trace.blocks[b];
  if (block.marks & kBlockNoEnd) {  // ended twice: the first one counts
    block.marks &= static_cast<uint8_t>(~kBlockNoEnd);
    block.raw_end_ns = events.start_ns[row];
    block.end_ns = state.Align(state.ProcessOf(row), block.raw_end_ns);
    if (events.status[row] != SpanStatus::kUnset) {
      block.status = events.status[row];
      block.status_message = events.status_message[row];
    }
  }
  auto& open = state.open_blocks[block.unit];
  const auto at = std::find(open.begin(), open.end(), b);
  if (at != open.end()) open.erase(at);
  state.Annotate(ElementKind::kBlock, b, row);
}

void HandlePoint(BuildState& state, uint32_t row) { state.point_rows.push_back(row); }
void HandleAnnotate(BuildState& state, uint32_t row) { state.annotate_rows.push_back(row); }
void HandleTraceStart(BuildState& state, uint32_t row) { state.trace_start_rows.push_back(row); }

void PlacePoints(BuildState& state) {
  const EventBatch& events = state.events;
  for (const uint32_t row : state.point_rows) {
    const uint32_t b = state.BlockFor(events.id2[row], row);
    const Nanos raw = events.start_ns[row];
    uint64_t id = events.id1[row];
    if (id == 0 || state.point_by_id.Find(id) != kNone)
      id = DeriveId(id ^ ContentHash(events, row).lo, kRoleEvent);
    const uint32_t p =
        state.AddPoint(b, PointType::kEvent, raw, state.Align(state.ProcessOf(row), raw), id);
    state.trace.points[p].name = state.NameOrIdOf(row);
    state.trace.points[p].event = EventType::kPoint;
    state.point_by_id.Insert(id, p);
    state.Annotate(ElementKind::kPoint, p, row);
  }
  for (const uint32_t row : state.trace_start_rows) {
    const uint32_t u = state.UnitFor(events.id1[row], row);
    const Nanos at = state.Align(state.ProcessOf(row), events.start_ns[row]);
    state.trace.units[u].trace_start_ns = at;
    state.Annotate(ElementKind::kUnit, u, row);
  }
}

void PlaceAnnotations(BuildState& state) {
  for (const uint32_t row : state.annotate_rows) {
    const uint64_t id = state.events.id1[row];
    uint32_t index;
    if ((index = state.block_by_id.Find(id)) != kNone) {
      state.Annotate(ElementKind::kBlock, index, row);
    } else if ((index = state.unit_by_id.Find(id)) != kNone) {
      state.Annotate(ElementKind::kUnit, index, row);
    } else if ((index = state.point_by_id.Find(id)) != kNone) {
      state.Annotate(ElementKind::kPoint, index, row);
    } else if ((index = state.edge_by_id.Find(id)) != kNone) {
      state.Annotate(ElementKind::kEdge, index, row);
    } else {
      state.RecordMissing(MissingWhat::kElement, id);
    }
  }
}

}  // namespace wf
