// An item in a queue becomes two blocks (Canopy §3.4): its wait, from put to take, in a unit of the queue's own, and
// the work on it, from take to done, in the taker's unit. Edges: put → wait (queue), wait → work (dequeue).
#include <algorithm>

#include "model/event_handlers.h"

namespace wf {
namespace {

void SetStart(BuildState& state, Block& block, uint32_t row) {
  block.raw_start_ns = state.events.start_ns[row];
  block.start_ns = state.Align(state.ProcessOf(row), block.raw_start_ns);
}
void SetEnd(BuildState& state, Block& block, uint32_t row) {
  block.raw_end_ns = state.events.start_ns[row];
  block.end_ns = state.Align(state.ProcessOf(row), block.raw_end_ns);
}

uint32_t QueueName(const BuildState& state, const std::vector<uint32_t>& rows) {
  for (const uint32_t row : rows) {
    uint32_t name = state.Label(row, "queue");
    if (name == 0) name = state.NameOf(row);
    if (name != 0) return name;
  }
  return state.trace.Intern("queue");
}

// One unit per queue and process: items wait beside each other, in nobody's thread.
uint32_t QueueUnit(BuildState& state, uint32_t row, uint32_t name) {
  const Process& process = state.events.processes[state.ProcessOf(row)];
  const uint64_t owner =
      HashBytes(state.events.str(process.host), HashBytes(state.events.str(process.service)));
  const uint64_t id = DeriveId(HashBytes(state.trace.str(name), owner), kRoleQueueUnit);
  const uint32_t known = state.queue_units.Find(id);
  if (known != kNone) return known;
  const uint32_t u = state.AddUnit(id, row);
  state.trace.units[u].name = name;
  if (state.trace.units[u].service == 0) state.trace.units[u].service = name;
  state.queue_units.Insert(id, u);
  return u;
}

void RelateItem(BuildState& state, const std::vector<uint32_t>& rows) {
  const EventBatch& events = state.events;
  Trace& trace = state.trace;
  const uint64_t item = events.id1[rows[0]];
  std::vector<uint32_t> puts, takes, dones;
  for (const uint32_t row : rows) {
    (events.type[row] == EventType::kQueuePut    ? puts
     : events.type[row] == EventType::kQueueTake ? takes
                                                 : dones)
        .push_back(row);
  }
  const uint32_t name = QueueName(state, rows);

  uint32_t wait = kNone;
  if (!puts.empty()) {
    const uint32_t putter = state.BlockFor(events.id2[puts[0]], puts[0]);
    const uint32_t put = state.AddEventPoint(putter, puts[0]);
    wait = state.AddBlock(DeriveId(item, kRoleWait), puts[0]);
    Block& block = trace.blocks[wait];
    block.kind = BlockKind::kWait;
    block.name = name;
    block.unit = QueueUnit(state, puts[0], name);
    block.parent = putter;
    block.reference = ParentRef::kChildOf;
    block.marks = kBlockAsync;  // who puts does not wait
    SetStart(state, block, puts[0]);
    if (takes.empty())
      block.marks |= kBlockNoEnd;
    else
      SetEnd(state, block, takes[0]);
    state.entered[wait] = 1;
    state.AddEdge(put, block.begin_point, EdgeType::kQueue, false);
    state.Annotate(ElementKind::kBlock, wait, puts[0]);
    state.block_by_id.Insert(block.id, wait);
    state.block_by_id.Insert(item, wait);
  } else {
    state.Record(ElementKind::kEdge, item, RepairPass::kHalfEdge, {}, {});
    state.RecordMissing(MissingWhat::kSend, item);
  }

  // Taken again after a failure: each taking is work of its own.
  for (size_t i = 0; i < std::max(takes.size(), dones.size()); ++i) {
    const uint32_t row = i < takes.size() ? takes[i] : dones[i];
    const uint32_t taker = state.BlockFor(events.id2[row], row);
    const uint32_t work = state.AddBlock(DeriveId(item + i, kRoleWork), row);
    Block& block = trace.blocks[work];
    block.kind = BlockKind::kWork;
    block.name = name;
    block.unit = trace.blocks[taker].unit;
    block.thread = trace.blocks[taker].thread;
    block.parent = taker;
    block.reference = ParentRef::kChildOf;
    block.marks = 0;
    if (i < takes.size())
      SetStart(state, block, takes[i]);
    else
      block.marks |= kBlockNoStart;
    if (i < dones.size())
      SetEnd(state, block, dones[i]);
    else
      block.marks |= kBlockNoEnd;
    state.entered[work] = 1;
    if (wait != kNone) {
      state.AddEdge(trace.blocks[wait].end_point, block.begin_point, EdgeType::kDequeue, true);
    }
    if (i < takes.size()) state.Annotate(ElementKind::kBlock, work, takes[i]);
    if (i < dones.size()) state.Annotate(ElementKind::kBlock, work, dones[i]);
    state.block_by_id.Insert(block.id, work);
    state.block_by_id.Insert(item, work);  // only if nobody put it
  }
}

}  // namespace

void HandleQueue(BuildState& state, uint32_t row) { state.queue_rows.push_back(row); }

void RelateQueues(BuildState& state) {
  for (const auto& group : GroupById(state, state.queue_rows)) RelateItem(state, group);
}

}  // namespace wf
