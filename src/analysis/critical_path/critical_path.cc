// The walk (Canopy §4.4 names the critical path; docs/concepts/critical-path.md defines it).
//
// Problem: find, for each nanosecond between two places of a trace, the block that was waited for. Spans show
// which block ran below which and when, but rarely which waited for which; clocks are inexact; some recorders
// add edges that say more.
//
// Method: walk backwards in time. At an instant t in a block, the walk looks for what ended the last wait
// there: the child, or the edge, that ended (was received) last, but no later than t. The time in between is
// the block's own; then the walk continues in the child, or at the sender of the edge. At a block's start it
// continues in the parent at that instant. t never grows, so each block's causes are sorted once, by their
// end, and a position in them only moves forward: n log n in all. There is no recursion; a chain of 100,000
// blocks is an ordinary loop.
//
// Limits: a parent that works while its children run is treated as waiting for them. Only edges show which of
// several parallel children was waited for; without edges, the others are listed as alternatives.
#include "analysis/critical_path/critical_path.h"

#include <algorithm>
#include <tuple>

#include "analysis/critical_path/happened_before.h"
#include "analysis/critical_path/path_graph.h"

namespace wf::critical_path {
namespace {

// What may have ended a wait: a blocking child cut to its parent's window, or an edge [send, receipt].
struct Cause {
  Nanos start, end;
  uint64_t id;
  uint32_t index;  // of the block or edge
  bool edge;

  // Rule 3: the greatest end wins, then the earlier start, then the smaller id.
  bool operator<(const Cause& o) const {
    return std::make_tuple(o.end, start, id, edge, index) <
           std::make_tuple(end, o.start, o.id, o.edge, o.index);
  }
};

// A block that the walk came through.
struct Frame {
  Nanos lo, hi;              // its window
  uint32_t begin, end;       // its causes, in order: causes_[begin, end)
  uint32_t next;             // those before it ended after t
  PathCategory own;          // category of its own time
  uint32_t first_segment;    // segments there were when it was chosen
  uint32_t alternatives[2];  // range, when it was chosen among several
  bool shown = false;        // has a segment of its own
};

class Walk {
 public:
  Walk(const PathGraph& graph, const CriticalPathOptions& options, PathPlace from,
       std::vector<Reached> reached)
      : g_(graph),
        t_(graph.trace),
        overlap_(options.overlap),
        start_(from.time_ns),
        reached_(std::move(reached)),
        frame_of_(t_.blocks.size(), kNone),
        edge_used_(t_.edges.size(), false) {}

  CriticalPath To(PathPlace to) {
    path_.root = to.block;
    path_.start_ns = start_;
    path_.end_ns = to.time_ns;
    Stand(to.block, to.time_ns, kNone);
    // Contradictory clocks may lead in circles without getting on in time; then the rest stays unexplained.
    size_t idle = 0;
    while (now_ > start_) {
      const Nanos before = now_;
      Step();
      idle = now_ < before ? 0 : idle + 1;
      if (idle > 2 * (t_.blocks.size() + t_.edges.size())) Unexplained();
    }
    KeepAlternatives();
    std::reverse(path_.segments.begin(), path_.segments.end());
    return std::move(path_);
  }

 private:
  void Stand(uint32_t block, Nanos time, uint32_t came_from) {
    at_ = block;
    now_ = std::min(now_, time);
    came_from_ = came_from;
  }

  // One step: what ended the last wait before now_ in block at_?
  void Step() {
    const uint32_t f = FrameOf(at_);
    const uint32_t chosen = Choose(frames_[f]);
    if (chosen == kNone) {
      Nanos bottom = frames_[f].lo;
      // Ignores what did not happen after the starting place.
      if (!reached_.empty()) bottom = std::max(bottom, reached_[at_].time_ns);
      Own(f, bottom);
      if (now_ > start_) Leave();
      return;
    }
    const Cause cause = causes_[chosen];
    if (cause.edge) {
      Own(f, cause.end);
      Follow(cause.index);
      return;
    }
    const Nanos end = std::min(cause.end, now_);
    const uint32_t child = Open(cause.index, cause.start, end);
    ListAlternatives(frames_[f], frames_[child], chosen);
    Own(f, end);
    frames_[child].first_segment = static_cast<uint32_t>(path_.segments.size());
    Stand(cause.index, end, kNone);
  }

  uint32_t FrameOf(uint32_t b) {
    if (frame_of_[b] != kNone) return frame_of_[b];
    return Open(b, std::max(t_.blocks[b].start_ns, start_), t_.blocks[b].end_ns);
  }

  // Rule 2: the causes of `b` cut to the window [lo, hi].
  uint32_t Open(uint32_t b, Nanos lo, Nanos hi) {
    if (frame_of_[b] != kNone) return frame_of_[b];
    Frame frame{lo, hi, static_cast<uint32_t>(causes_.size()), 0, 0, OwnCategory(t_, b), 0, {0, 0}};
    for (uint32_t i = t_.children_begin[b]; i < t_.children_begin[b + 1]; ++i) {
      const uint32_t c = t_.children[i];
      const Block& child = t_.blocks[c];
      const Nanos from = std::max(child.start_ns, lo), to = std::min(child.end_ns, hi);
      if (child.async() || from >= to) continue;
      if (!reached_.empty() && reached_[c].time_ns > to) continue;
      causes_.push_back({from, to, child.id, c, false});
    }
    for (uint32_t i = g_.in_begin[b]; i < g_.in_begin[b + 1]; ++i) {
      const uint32_t e = g_.in[i];
      const Nanos receipt = g_.receipt(e);
      if (!t_.edges[e].blocking || receipt < lo || receipt > hi) continue;
      if (!reached_.empty() && reached_[g_.sender(e)].time_ns > t_.points[t_.edges[e].from].time_ns)
        continue;
      causes_.push_back({g_.send(e), receipt, t_.edges[e].id, e, true});
    }
    frame.end = static_cast<uint32_t>(causes_.size());
    frame.next = frame.begin;
    std::sort(causes_.begin() + frame.begin, causes_.end());
    frames_.push_back(frame);
    return frame_of_[b] = static_cast<uint32_t>(frames_.size() - 1);
  }

  // Rules 3 and 4; kNone when nothing is left.
  uint32_t Choose(Frame& frame) {
    while (frame.next < frame.end &&
           (causes_[frame.next].end > now_ ||
            (causes_[frame.next].edge && edge_used_[causes_[frame.next].index])))
      ++frame.next;
    uint32_t best = frame.next < frame.end ? frame.next : kNone;
    if (came_from_ == kNone || overlap_ == OverlapTolerance::kOff) return best;
    const Block& before = t_.blocks[came_from_];
    const Nanos before_start = std::max(before.start_ns, frame.lo);
    if (before_start != now_) return best;
    const Nanos length = SaturatingSub(std::min(before.end_ns, frame.hi), before_start);
    // Those that end after t are just before `next`. The spans checked here are in the first twentieth of the
    // child walked just before, so that none is checked twice.
    const Nanos latest = SaturatingAdd(now_, std::min(kMaxOverlap, length / kOverlapShare));
    for (uint32_t i = frame.next; i-- > frame.begin && causes_[i].end <= latest;) {
      const Cause& cause = causes_[i];
      if (cause.edge || cause.start >= now_ || cause.end <= now_) continue;
      if (!Tolerable(SaturatingSub(cause.end, now_), SaturatingSub(cause.end, cause.start), length))
        continue;
      // Cut to t, it ends as late as can be: only the earlier start and the smaller id beat it.
      const bool ends_now = best != kNone && causes_[best].end >= now_;
      if (!ends_now ||
          std::tie(cause.start, cause.id) < std::tie(causes_[best].start, causes_[best].id))
        best = i;
    }
    return best;
  }

  // They overlap, but no more than rule 4 tolerates of two that follow one another.
  bool Successive(const Cause& first, const Cause& second) const {
    return overlap_ == OverlapTolerance::kOn && first.start < second.start &&
           Tolerable(SaturatingSub(first.end, second.start), SaturatingSub(first.end, first.start),
                     SaturatingSub(second.end, second.start));
  }

  // Siblings that had also ended by t and ran in parallel with the chosen one: as far as the spans show, any
  // of them could have been waited for.
  void ListAlternatives(const Frame& frame, Frame& chosen, uint32_t cause) {
    if (now_ >= frame.hi) return;
    auto& list = path_.alternatives;
    chosen.alternatives[0] = static_cast<uint32_t>(list.size());
    const Cause& taken = causes_[cause];
    for (uint32_t i = frame.next; i < frame.end && causes_[i].end > taken.start; ++i) {
      const Cause& other = causes_[i];
      if (i != cause && !other.edge && !Successive(other, taken)) list.push_back(other.index);
    }
    std::sort(list.begin() + chosen.alternatives[0], list.end());
    chosen.alternatives[1] = static_cast<uint32_t>(list.size());
  }

  // A chosen child that others fill wholly has no segment to carry its alternatives: the latest of theirs does.
  void KeepAlternatives() {
    for (const Frame& frame : frames_) {
      if (frame.shown || frame.alternatives[0] == frame.alternatives[1]) continue;
      if (frame.first_segment >= path_.segments.size()) continue;
      PathSegment& latest = path_.segments[frame.first_segment];
      if (latest.alternatives_begin != latest.alternatives_end) continue;
      latest.alternatives_begin = frame.alternatives[0];
      latest.alternatives_end = frame.alternatives[1];
    }
  }

  // [from, now] was the block's own time.
  void Own(uint32_t f, Nanos from) { Add(at_, frames_[f].own, from, NestedEdge(f, from)); }

  // The CLIENT's time before its SERVER began is the way of the request, that after it ended of the response.
  uint32_t NestedEdge(uint32_t f, Nanos from) const {
    if (frames_[f].own != PathCategory::kNetwork) return kNone;
    const Block& client = t_.blocks[at_];
    if (came_from_ != kNone && t_.blocks[came_from_].kind == BlockKind::kServer &&
        from == client.start_ns)
      return g_.request_of[came_from_];
    const Frame& frame = frames_[f];
    if (now_ != client.end_ns || frame.next >= frame.end) return kNone;
    const Cause& cause = causes_[frame.next];
    return !cause.edge && cause.end == from ? g_.response_of[cause.index] : kNone;
  }

  void Add(uint32_t block, PathCategory category, Nanos from, uint32_t edge) {
    from = std::max(from, start_);
    if (from >= now_) return;
    auto& segments = path_.segments;
    PathSegment segment{block, edge, category, from, now_, 0, 0};
    if (frame_of_[block] != kNone) {
      Frame& frame = frames_[frame_of_[block]];
      frame.shown = true;
      segment.alternatives_begin = frame.alternatives[0];
      segment.alternatives_end = frame.alternatives[1];
    }
    now_ = from;
    if (!segments.empty()) {
      PathSegment& last = segments.back();
      if (last.block == block && last.category == category && last.edge == edge) {
        last.start_ns = from;
        return;
      }
    }
    segments.push_back(segment);
  }

  // To the sender at send time; the way is the receiver's wait.
  void Follow(uint32_t e) {
    edge_used_[e] = true;
    const uint32_t receiver = g_.receiver(e);
    Add(receiver, TransitCategory(t_.edges[e].type), g_.send(e), e);
    waiting_.push_back(receiver);
    Stand(g_.sender(e), g_.send(e), kNone);
  }

  // The block's start is reached: on in what caused it.
  void Leave() {
    const uint32_t b = at_;
    const Reached reached = reached_.empty() ? Reached{} : reached_[b];
    switch (reached.via) {
      case ReachedVia::kNothing:
        break;  // no starting place was given
      case ReachedVia::kPlace:
        now_ = start_;  // cannot be: its bottom is the start
        return;
      case ReachedVia::kParent:
        GoOnIn(t_.blocks[b].parent, b);
        return;
      case ReachedVia::kLink:
        GoOnIn(reached.what, kNone);
        return;
      case ReachedVia::kEdge:
        Follow(reached.what);
        return;
      case ReachedVia::kChild:
        Stand(reached.what, now_, kNone);
        return;
      case ReachedVia::kSibling:
        Open(reached.what, std::max(t_.blocks[reached.what].start_ns, start_), now_);
        Stand(reached.what, now_, kNone);
        return;
    }
    if (t_.blocks[b].parent != kNone) {
      GoOnIn(t_.blocks[b].parent, b);
      return;
    }
    if (const uint32_t link = left_by_link_.empty() || !left_by_link_[b] ? g_.FirstLink(b) : kNone;
        link != kNone) {
      left_by_link_.resize(t_.blocks.size(), false);
      left_by_link_[b] = true;
      GoOnIn(link, kNone);
      return;
    }
    // The trace does not show why it began. The block that waited for it was there before.
    if (!waiting_.empty()) {
      Stand(waiting_.back(), now_, kNone);
      waiting_.pop_back();
      return;
    }
    Unexplained();
  }

  void Unexplained() {
    Add(at_, PathCategory::kBlocked, start_, kNone);
    now_ = start_;
  }

  // In `cause` at this instant; if it was over by then, the time between is this block's wait in a queue.
  void GoOnIn(uint32_t cause, uint32_t child) {
    const Nanos end = t_.blocks[cause].end_ns;
    if (end < now_) {
      Add(at_, PathCategory::kQueue, end, kNone);
      child = kNone;
    }
    Stand(cause, now_, child);
  }

  const PathGraph& g_;
  const Trace& t_;
  const OverlapTolerance overlap_;
  const Nanos start_;
  const std::vector<Reached> reached_;  // empty: everything is included
  CriticalPath path_;                   // backwards while walking

  uint32_t at_ = kNone;
  Nanos now_ = INT64_MAX;
  uint32_t came_from_ = kNone;  // the child of at_ whose start is now_, if the walk comes from it
  std::vector<Frame> frames_;
  std::vector<uint32_t> frame_of_;  // block → frame
  std::vector<Cause> causes_;
  std::vector<bool> edge_used_, left_by_link_;  // edges of no length could lead round in circles
  std::vector<uint32_t> waiting_;               // receivers of the edges followed
};

std::string Describe(const Trace& trace, PathPlace place) {
  const Block& block = trace.blocks[place.block];
  const char* which = place.time_ns == block.start_ns ? ":start"
                      : place.time_ns == block.end_ns ? ":end"
                                                      : "";
  return ToHex64(block.id) + which;
}

}  // namespace

Result<CriticalPath> FindCriticalPath(const Trace& trace, const CriticalPathOptions& options) {
  const uint32_t root = trace.main_root();
  if (root == kNone) return NotFound("trace " + ToHex(trace.id) + ": has no span");
  const PathPlace from = options.from.value_or(PathPlace{root, trace.blocks[root].start_ns});
  const PathPlace to = options.to.value_or(PathPlace{root, trace.blocks[root].end_ns});
  const PathGraph graph(trace);
  std::vector<Reached> reached;
  if (options.from || options.to) {
    reached = HappenedBefore(graph, from, options.overlap);
    if (reached[to.block].time_ns > to.time_ns || from.time_ns > to.time_ns) {
      return NotFound("trace " + ToHex(trace.id) + ": " + Describe(trace, from) +
                          " did not happen before " + Describe(trace, to),
                      "choose two places that one request, wait or message connects");
    }
  }
  return Walk(graph, options, from, std::move(reached)).To(to);
}

}  // namespace wf::critical_path
