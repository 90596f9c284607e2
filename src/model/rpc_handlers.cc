// Remote calls in the four generations of Canopy §5.3, figure 11. The events are client send, server receive, server
// send, client receive; the model has edges, so all generations come out alike:
//   a  blocks known only by these events: the callee's block is [receive, send];
//   b  the response is received in another block than the one that sent the request;
//   c  the response is read by an IO thread and waits (client queue) until the main thread takes it;
//   d  the same, deferred by the thread that read it.
// Without any response the call was one-way; several responses are several edges.
#include <algorithm>

#include "model/event_handlers.h"

namespace wf {
namespace {

struct Rpc {
  uint64_t id = 0;
  std::vector<uint32_t> cs, sr, ss, cr, cq;  // rows
  uint32_t callee = kNone;                   // block
  bool one_way() const { return ss.empty() && cr.empty() && cq.empty(); }
};

Rpc Collect(const BuildState& state, const std::vector<uint32_t>& rows) {
  Rpc rpc;
  rpc.id = state.events.id1[rows[0]];
  for (const uint32_t row : rows) {
    switch (state.events.type[row]) {
      case EventType::kRpcClientSend:
        rpc.cs.push_back(row);
        break;
      case EventType::kRpcServerReceive:
        rpc.sr.push_back(row);
        break;
      case EventType::kRpcServerSend:
        rpc.ss.push_back(row);
        break;
      case EventType::kRpcClientReceive:
        rpc.cr.push_back(row);
        break;
      default:
        rpc.cq.push_back(row);
    }
  }
  return rpc;
}

// The callee's block as its own events tell it (generation a), or inferred from what its caller saw.
void FindCallee(BuildState& state, Rpc& rpc) {
  const EventBatch& events = state.events;
  rpc.callee = state.block_by_id.Find(rpc.id);
  if (rpc.callee != kNone) return;
  const auto here = [&](uint32_t row) { return events.id2[row] == rpc.id || events.id2[row] == 0; };
  const bool received = std::any_of(rpc.sr.begin(), rpc.sr.end(), here);
  if (received || std::any_of(rpc.ss.begin(), rpc.ss.end(), here)) {
    const uint32_t row = rpc.sr.empty() ? rpc.ss[0] : rpc.sr[0];
    rpc.callee = state.AddBlock(rpc.id, row);
    state.block_by_id.Insert(rpc.id, rpc.callee);
    Block& block = state.trace.blocks[rpc.callee];
    block.unit = state.AddUnit(DeriveId(rpc.id, kRoleUnit), row);
    block.kind = BlockKind::kServer;
    block.name = state.NameOf(row);
    if (block.name == 0 && !rpc.cs.empty()) block.name = state.NameOf(rpc.cs[0]);
    if (block.name == 0) block.name = state.trace.Intern("rpc");
    if (rpc.sr.empty()) {
      block.marks |= kBlockNoStart;
    } else {
      block.raw_start_ns = events.start_ns[row];
      block.start_ns = state.Align(state.ProcessOf(row), block.raw_start_ns);
    }
    if (rpc.ss.empty()) {
      block.marks |= kBlockNoEnd;
    } else {
      block.raw_end_ns = events.start_ns[rpc.ss.back()];
      block.end_ns = state.Align(state.ProcessOf(rpc.ss.back()), block.raw_end_ns);
    }
    return;
  }
  if (!rpc.sr.empty() || !rpc.ss.empty())
    return;  // they happened in blocks of other ids: see Relate
  const auto& back = rpc.cq.empty() ? rpc.cr : rpc.cq;
  if (rpc.cs.empty() || back.empty()) return;
  // The callee sent no events: between request and response something ran that we know nothing of.
  rpc.callee = state.AddStandIn(rpc.id);
  Block& block = state.trace.blocks[rpc.callee];
  block.marks = kBlockStandIn;
  block.raw_start_ns = events.start_ns[rpc.cs[0]];
  block.start_ns = state.Align(state.ProcessOf(rpc.cs[0]), block.raw_start_ns);
  block.raw_end_ns = events.start_ns[back.back()];
  block.end_ns = state.Align(state.ProcessOf(back.back()), block.raw_end_ns);
  state.Record(ElementKind::kBlock, rpc.id, RepairPass::kMissingBlock, {}, RepairValue::Id(rpc.id));
  state.RecordMissing(MissingWhat::kCallee, rpc.id);
}

std::vector<uint32_t> PlaceEnds(BuildState& state, const std::vector<uint32_t>& rows,
                                uint32_t fallback) {
  std::vector<uint32_t> points;
  for (const uint32_t row : rows) {
    const uint64_t where = state.events.id2[row];
    const uint32_t block = where == 0 && fallback != kNone ? fallback : state.BlockFor(where, row);
    points.push_back(state.AddEventPoint(block, row));
  }
  return points;
}

// Edges from sends to receives; annotations of both ends go to the edge, of an end without an edge to its point.
void Connect(BuildState& state, const std::vector<uint32_t>& send_rows,
             const std::vector<uint32_t>& sends, const std::vector<uint32_t>& receive_rows,
             const std::vector<uint32_t>& receives, EdgeType type, bool blocking) {
  if (sends.empty() || receives.empty()) {
    for (size_t i = 0; i < send_rows.size(); ++i)
      state.Annotate(ElementKind::kPoint, sends[i], send_rows[i]);
    for (size_t i = 0; i < receive_rows.size(); ++i)
      state.Annotate(ElementKind::kPoint, receives[i], receive_rows[i]);
    return;
  }
  for (const auto& [from, to] : PairEnds(sends.size(), receives.size())) {
    const uint32_t e = state.AddEdge(sends[from], receives[to], type, blocking);
    if (from < send_rows.size()) state.Annotate(ElementKind::kEdge, e, send_rows[from]);
    if (to < receive_rows.size()) state.Annotate(ElementKind::kEdge, e, receive_rows[to]);
    if (type == EdgeType::kRpcQueue) {
      const Nanos waited = SaturatingSub(state.trace.points[receives[to]].time_ns,
                                         state.trace.points[sends[from]].time_ns);
      state.AddCounter(ElementKind::kEdge, e, "queue_time", "ns", waited);
    }
    state.Enter(e);
  }
}

void Relate(BuildState& state, Rpc& rpc) {
  Trace& trace = state.trace;
  auto cs = PlaceEnds(state, rpc.cs, kNone);
  auto sr = PlaceEnds(state, rpc.sr, rpc.callee);
  auto ss = PlaceEnds(state, rpc.ss, rpc.callee);
  auto cr = PlaceEnds(state, rpc.cr, cs.empty() ? kNone : trace.points[cs[0]].block);
  auto cq = PlaceEnds(state, rpc.cq, kNone);
  if (rpc.callee == kNone && !sr.empty()) rpc.callee = trace.points[sr[0]].block;
  if (rpc.callee == kNone && !ss.empty()) rpc.callee = trace.points[ss[0]].block;

  if (rpc.callee != kNone && !cs.empty()) {
    Block& callee = trace.blocks[rpc.callee];
    const uint32_t caller = trace.points[cs[0]].block;
    if (callee.parent == kNone && state.parent_ids[rpc.callee] == 0 && caller != rpc.callee) {
      callee.parent = caller;
      callee.reference = ParentRef::kChildOf;
    }
    const bool by_caller =
        callee.parent == caller || state.parent_ids[rpc.callee] == trace.blocks[caller].id;
    if (rpc.one_way() && by_caller) callee.marks |= kBlockAsync;
  }

  // An end that was not recorded is where the callee's block begins or ends. Nothing is missing where the callee is a
  // span: its begin and end are all that spans tell of receiving and sending.
  const auto half = [&](MissingWhat what) {
    state.Record(ElementKind::kEdge, rpc.id, RepairPass::kHalfEdge, {}, {});
    state.RecordMissing(what, rpc.id);
  };
  const bool response_seen = !cr.empty() || !cq.empty();
  const bool callee_untold =
      rpc.callee != kNone &&
      (trace.blocks[rpc.callee].stand_in() || (trace.blocks[rpc.callee].marks & kBlockUnlinked));
  if (rpc.callee != kNone && !cs.empty() && sr.empty()) {
    if (!callee_untold) half(MissingWhat::kReceive);
    sr.push_back(trace.blocks[rpc.callee].begin_point);
  }
  if (rpc.callee != kNone && response_seen && ss.empty()) {
    if (!callee_untold) half(MissingWhat::kSend);
    ss.push_back(trace.blocks[rpc.callee].end_point);
  }
  if (rpc.callee == kNone) half(rpc.cs.empty() ? MissingWhat::kCaller : MissingWhat::kReceive);
  if (rpc.cs.empty() && response_seen) half(MissingWhat::kCaller);
  if (!rpc.cs.empty() && !rpc.ss.empty() && !response_seen) half(MissingWhat::kReceive);

  Connect(state, rpc.cs, cs, rpc.sr, sr, rpc.one_way() ? EdgeType::kOneWay : EdgeType::kRequest,
          false);
  if (cq.empty()) {
    Connect(state, rpc.ss, ss, rpc.cr, cr, EdgeType::kResponse, true);
  } else {
    Connect(state, rpc.ss, ss, {}, cq, EdgeType::kResponse, true);
    Connect(state, rpc.cq, cq, rpc.cr, cr, EdgeType::kRpcQueue, true);
    if (cr.empty()) half(MissingWhat::kReceive);
  }
}

}  // namespace

void HandleRpc(BuildState& state, uint32_t row) { state.rpc_rows.push_back(row); }

void RelateRpcs(BuildState& state) {
  std::vector<Rpc> rpcs;
  for (const auto& group : GroupById(state, state.rpc_rows)) rpcs.push_back(Collect(state, group));
  for (Rpc& rpc : rpcs)
    FindCallee(state, rpc);  // first all blocks: one call's callee is another's caller
  for (Rpc& rpc : rpcs) Relate(state, rpc);
}

}  // namespace wf
