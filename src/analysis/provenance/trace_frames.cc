#include "analysis/provenance/trace_frames.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace wf::provenance {
namespace {

bool IsWork(const Block& block) {
  return block.kind != BlockKind::kWait && block.kind != BlockKind::kHold;
}

class FrameMaker {
 public:
  explicit FrameMaker(const Trace& trace) : t_(trace) {
    out_.trace = &trace;
    out_.frames.resize(trace.blocks.size());
  }

  TraceFrames Make() {
    ReadEdges();
    // Parents first, so that bounds are settled from the outside in.
    std::vector<uint32_t> queue;
    for (const uint32_t root : t_.roots) {
      if (!IsWork(t_.blocks[root])) continue;
      Begin(root, kNone);
      queue.push_back(root);
    }
    for (size_t i = 0; i < queue.size(); ++i) {
      const uint32_t b = queue[i];
      Adopt(b);
      for (uint32_t c = t_.children_begin[b]; c < t_.children_begin[b + 1]; ++c) {
        const uint32_t child = t_.children[c];
        if (out_.frames[child].kind != FrameKind::kNone) queue.push_back(child);
      }
    }
    out_.order = std::move(queue);
    PutItems();
    ReadLocks();
    KeepEdges();
    for (Frame& f : out_.frames) f.asked = f.sent;
    return std::move(out_);
  }

 private:
  uint32_t BlockOf(uint32_t point) const { return t_.points[point].block; }
  Nanos TimeOf(uint32_t point) const { return t_.points[point].time_ns; }
  static Nanos Clamp(Nanos time, Nanos low, Nanos high) {
    return std::max(low, std::min(time, high));
  }

  // The edges between a block and its parent, and those into queues.
  void ReadEdges() {
    const size_t n = t_.blocks.size();
    request_.assign(n, kNone);
    reply_.assign(n, kNone);
    taken_from_.assign(n, kNone);
    used_.assign(t_.edges.size(), false);
    for (uint32_t e = 0; e < t_.edges.size(); ++e) {
      const Edge& edge = t_.edges[e];
      const uint32_t from = BlockOf(edge.from), to = BlockOf(edge.to);
      if (edge.type == EdgeType::kLock || edge.type == EdgeType::kQueue || from == to) {
        used_[e] = true;
      } else if (edge.type == EdgeType::kDequeue) {
        used_[e] = true;
        if (taken_from_[to] == kNone) taken_from_[to] = from;
      } else if (t_.blocks[to].parent == from && edge.type != EdgeType::kResponse &&
                 edge.type != EdgeType::kReturn && edge.type != EdgeType::kJoin) {
        used_[e] = true;
        if (request_[to] == kNone) request_[to] = e;
      } else if (t_.blocks[from].parent == to && edge.blocking) {
        used_[e] = true;
        const uint32_t known = reply_[from];
        if (known == kNone || TimeOf(t_.edges[known].to) < TimeOf(edge.to)) reply_[from] = e;
      }
    }
  }

  void Begin(uint32_t b, uint32_t parent) {
    const Block& block = t_.blocks[b];
    Frame& f = out_.frames[b];
    f.kind = FrameKind::kRoot;
    f.parent = parent;
    f.head = b;
    f.start = block.start_ns;
    f.end = std::max(block.start_ns, block.end_ns);
    f.received = f.end;
    f.told_arrival = ToldArrival(block);
    f.arrived = f.told_arrival ? std::min(*f.told_arrival, f.start) : f.start;
    f.sent = f.arrived;
  }

  // By the host's clock, as the block's own times; moved with them. May be a text: Zipkin's tags have no
  // other type.
  std::optional<Nanos> ToldArrival(const Block& block) const {
    const auto text = BlockAttribute(t_, block, "wherefore.arrival_ns");
    if (!text || text->empty()) return {};
    Nanos told = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), told);
    if (error != std::errc() || end != text->data() + text->size()) return {};
    return SaturatingAdd(told, SaturatingSub(block.start_ns, block.raw_start_ns));
  }

  bool Remote(const Block& parent, const Block& block) const {
    if (parent.kind == BlockKind::kClient && block.kind == BlockKind::kServer) return true;
    if (parent.kind == BlockKind::kProducer && block.kind == BlockKind::kConsumer) return true;
    return parent.process != block.process && !parent.stand_in() && !block.stand_in();
  }

  bool Waited(uint32_t b) const {
    const Block& block = t_.blocks[b];
    const Block& parent = t_.blocks[block.parent];
    if (reply_[b] != kNone) return true;
    return !block.async() && block.unit == parent.unit && request_[b] == kNone &&
           block.end_ns <= parent.end_ns;
  }

  // Settles the children of a block whose own bounds are settled.
  void Adopt(uint32_t b) {
    const Frame& parent = out_.frames[b];
    std::vector<uint32_t> called;  // remote, by parentage only: their times show nothing finer
    for (uint32_t i = t_.children_begin[b]; i < t_.children_begin[b + 1]; ++i) {
      const uint32_t c = t_.children[i];
      if (!IsWork(t_.blocks[c])) continue;
      const Block& block = t_.blocks[c];
      Begin(c, b);
      Frame& f = out_.frames[c];
      const bool remote = Remote(t_.blocks[b], block), waited = Waited(c);
      if (block.kind == BlockKind::kWork) {
        f.kind = FrameKind::kTaken;
      } else if (remote) {
        f.kind = waited ? FrameKind::kRemote : FrameKind::kReceived;
      } else {
        f.kind = waited ? FrameKind::kCalled : FrameKind::kSpawned;
      }
      const bool own_thread = remote || block.unit != t_.blocks[b].unit;
      if (!own_thread && (waited || f.kind == FrameKind::kTaken)) f.head = parent.head;
      if (waited || f.kind == FrameKind::kTaken) f.waiter = b;
      PlaceStart(c, parent);
      if (f.waiter != kNone) PlaceEnd(c, parent);
      if (f.start != block.start_ns || f.end != std::max(block.start_ns, block.end_ns))
        ++out_.moved;
      if (f.kind == FrameKind::kRemote && t_.blocks[b].kind == BlockKind::kClient)
        called.push_back(c);
      f.estimate_arrival =
          !f.told_arrival && (f.kind == FrameKind::kRemote || f.kind == FrameKind::kReceived);
    }
    if (!called.empty()) WidenCalls(b, called);
  }

  void PlaceStart(uint32_t c, const Frame& parent) {
    Frame& f = out_.frames[c];
    const Block& block = t_.blocks[c];
    const bool within = f.waiter != kNone;
    f.start = within ? Clamp(block.start_ns, parent.start, parent.end)
                     : std::max(block.start_ns, parent.start);
    f.end = std::max(f.end, f.start);
    f.arrived = Clamp(f.told_arrival.value_or(f.start), parent.start, f.start);
    f.sent = std::min(f.arrived, parent.end);
    if (request_[c] == kNone) return;
    const Edge& edge = t_.edges[request_[c]];
    const bool finer = edge.from != t_.blocks[f.parent].begin_point;
    const BlockKind sender = t_.blocks[f.parent].kind;
    // Where the sender's span is the sending, it began with it.
    if (finer)
      f.sent = Clamp(TimeOf(edge.from), parent.start, f.sent);
    else if (f.kind == FrameKind::kReceived &&
             (sender == BlockKind::kProducer || sender == BlockKind::kClient))
      f.sent = parent.start;
  }

  void PlaceEnd(uint32_t c, const Frame& parent) {
    Frame& f = out_.frames[c];
    f.end = Clamp(f.end, f.start, parent.end);
    f.received = f.end;
    if (reply_[c] == kNone) return;
    const uint32_t to = t_.edges[reply_[c]].to;
    if (to != t_.blocks[f.parent].end_point) f.received = Clamp(TimeOf(to), f.start, parent.end);
    f.end = std::min(f.end, f.received);
  }

  // A client span is the call: what it does not spend in the server is the way there and back, before the first
  // attempt and after the last.
  void WidenCalls(uint32_t b, const std::vector<uint32_t>& called) {
    const Frame& parent = out_.frames[b];
    Frame& first = out_.frames[called.front()];
    uint32_t last = called.front();
    for (const uint32_t c : called) {
      if (out_.frames[c].end > out_.frames[last].end) last = c;
    }
    bool before = false, after = false;  // something else runs there
    for (uint32_t i = t_.children_begin[b]; i < t_.children_begin[b + 1]; ++i) {
      const uint32_t c = t_.children[i];
      const Frame& f = out_.frames[c];
      if (f.kind == FrameKind::kNone || f.waiter == kNone) continue;
      if (c != called.front() && f.start < first.arrived) before = true;
      if (c != last && f.end > out_.frames[last].end) after = true;
    }
    const auto by_parentage = [&](uint32_t edge, uint32_t point, bool to) {
      return edge != kNone && (to ? t_.edges[edge].to : t_.edges[edge].from) == point;
    };
    if (!before && by_parentage(request_[called.front()], t_.blocks[b].begin_point, false))
      first.sent = parent.start;
    if (!after && by_parentage(reply_[last], t_.blocks[b].end_point, true))
      out_.frames[last].received = parent.end;
  }

  // An item was caused by the block that put it there, whenever it was taken.
  void PutItems() {
    for (const uint32_t b : out_.order) {
      Frame& f = out_.frames[b];
      if (f.kind != FrameKind::kTaken) continue;
      const uint32_t wait = taken_from_[b];
      const uint32_t putter = wait == kNone ? kNone : t_.blocks[wait].parent;
      if (putter == kNone || out_.frames[putter].kind == FrameKind::kNone || Below(putter, b)) {
        f.kind = FrameKind::kCalled;
        continue;
      }
      const Frame& by = out_.frames[putter];
      f.parent = putter;
      f.sent = Clamp(t_.blocks[wait].start_ns, by.start, by.end);
      if (f.sent > f.start) {  // clocks contradict
        f.kind = FrameKind::kCalled;
        f.parent = f.waiter;
        f.sent = f.start;
      }
      f.arrived = f.sent;
    }
  }

  bool Below(uint32_t b, uint32_t ancestor) const {
    while (b != kNone && b != ancestor) b = t_.blocks[b].parent;
    return b == ancestor;
  }

  void ReadLocks() {
    for (uint32_t b = 0; b < t_.blocks.size(); ++b) {
      const Block& hold = t_.blocks[b];
      if (hold.kind != BlockKind::kHold || hold.parent == kNone) continue;
      const Frame& in = out_.frames[hold.parent];
      if (in.kind == FrameKind::kNone) continue;
      const Frame& thread = out_.frames[in.head];
      LockUse use;
      use.block = hold.parent;
      use.hold = b;
      use.resource = LockName(hold);
      use.acquired = Clamp(hold.start_ns, in.start, in.end);
      use.released = Clamp(hold.end_ns, use.acquired, std::max(use.acquired, thread.end));
      use.requested = use.acquired;
      for (uint32_t i = t_.children_begin[hold.parent]; i < t_.children_begin[hold.parent + 1];
           ++i) {
        const Block& wait = t_.blocks[t_.children[i]];
        if (wait.kind != BlockKind::kWait || wait.async() || wait.name != hold.name ||
            wait.end_ns != hold.start_ns)
          continue;
        use.requested = Clamp(wait.start_ns, in.start, use.acquired);
        use.waited = use.requested < use.acquired;
      }
      out_.locks.push_back(std::move(use));
    }
    std::sort(out_.locks.begin(), out_.locks.end(), [](const LockUse& a, const LockUse& b) {
      return std::tie(a.block, a.requested, a.acquired, a.hold) <
             std::tie(b.block, b.requested, b.acquired, b.hold);
    });
  }

  std::string LockName(const Block& hold) const {
    const std::string process = ProcessName(t_, t_.blocks[hold.parent]);
    std::string name(t_.str(hold.name));
    // A lock without a name is identified by its id. libwherefore names the lock only in the request, and the
    // model then uses that name for the hold.
    const bool named = name != "lock" || (hold.row != kNone && BlockAttribute(t_, hold, "lock"));
    if (!named && hold.row != kNone) name = ToHex64(t_.events->id1[hold.row]);
    return "lock " + name + " of " + process;
  }

  void KeepEdges() {
    for (uint32_t e = 0; e < t_.edges.size(); ++e) {
      if (used_[e]) continue;
      const Edge& edge = t_.edges[e];
      const uint32_t from = BlockOf(edge.from);
      uint32_t to = BlockOf(edge.to);
      EdgeUse use;
      // A wait is not work: the block around it is what waits.
      if (t_.blocks[to].kind == BlockKind::kWait && t_.blocks[to].parent != kNone) {
        use.waiting = t_.blocks[to].start_ns;
        to = t_.blocks[to].parent;
      }
      const Frame &a = out_.frames[from], &b = out_.frames[to];
      if (a.kind == FrameKind::kNone || b.kind == FrameKind::kNone) continue;
      use.from = from;
      use.to = to;
      use.sent = Clamp(TimeOf(edge.from), a.start, a.end);
      use.received = Clamp(TimeOf(edge.to), b.start, b.end);
      use.blocking = edge.blocking;
      if (use.sent <= use.received) out_.edges.push_back(use);
    }
  }

  const Trace& t_;
  TraceFrames out_;
  std::vector<uint32_t> request_, reply_;  // edges from and to the parent, by block
  std::vector<uint32_t> taken_from_;       // the wait an item of a queue came from, by block
  std::vector<bool> used_;                 // edges
};

}  // namespace

TraceFrames MakeFrames(const Trace& trace) { return FrameMaker(trace).Make(); }

void CollectOneWayTimes(const TraceFrames& frames, OneWayTimes& least) {
  const Trace& trace = *frames.trace;
  for (const uint32_t b : frames.order) {
    const Frame& f = frames.frames[b];
    if (f.kind != FrameKind::kRemote && f.kind != FrameKind::kReceived) continue;
    const Nanos way = SaturatingSub(f.arrived, f.sent);
    auto pair = std::make_pair(std::string(trace.service(trace.blocks[f.parent])),
                               std::string(trace.service(trace.blocks[b])));
    const auto [at, added] = least.try_emplace(std::move(pair), way);
    if (!added) at->second = std::min(at->second, way);
  }
}

void EstimateArrivals(TraceFrames& frames, const OneWayTimes& least, TraceAssumptions& assumed) {
  const Trace& trace = *frames.trace;
  for (const uint32_t b : frames.order) {
    Frame& f = frames.frames[b];
    const bool head =
        f.kind == FrameKind::kRemote || f.kind == FrameKind::kReceived ||
        (f.kind == FrameKind::kRoot && (trace.blocks[b].kind == BlockKind::kServer ||
                                        trace.blocks[b].kind == BlockKind::kConsumer));
    if (!head) continue;
    if (f.told_arrival) {
      ++assumed.arrivals_recorded;
      continue;
    }
    const auto at = !f.estimate_arrival
                        ? least.end()
                        : least.find({std::string(trace.service(trace.blocks[f.parent])),
                                      std::string(trace.service(trace.blocks[b]))});
    if (at == least.end()) {
      ++assumed.arrivals_unknown;
      continue;
    }
    ++assumed.arrivals_estimated;
    f.arrived = std::min(f.start, SaturatingAdd(f.sent, std::max<Nanos>(0, at->second)));
  }
}

}  // namespace wf::provenance
