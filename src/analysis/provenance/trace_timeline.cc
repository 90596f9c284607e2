// Each block is walked along its time, entering children as they come. `frontier` holds the events that cause
// what comes next: the last segment, and the answers since. A stretch of the block's own time ends where a
// child begins that it waits for, where something leaves it, and where it acquires or releases a lock. A
// stretch of zero length is left out, unless another event may have to wait there (the first of a thread) or
// it holds something up to there (the last).
#include "analysis/provenance/trace_timeline.h"

#include <algorithm>
#include <tuple>

namespace wf::provenance {
namespace {

constexpr uint32_t kTap = 1u << 31;  // a cause that is known only when its sender was walked

enum class ItemKind : uint8_t {  // in the order in which they count at one instant
  kReturn,
  kGapEnd,
  kArrive,
  kMark,
  kCut,
  kDepart,
  kTapped,
  kGapBegin,
  kCall,
  kCallAndReturn,  // of no length
};

struct Item {
  Nanos time = 0;
  ItemKind kind = ItemKind::kCut;
  uint32_t ref = 0;    // block or tap
  bool force = false;  // of a gap's end: a segment begins here, whatever its length
  bool operator<(const Item& o) const {
    return std::tie(time, kind, ref) < std::tie(o.time, o.kind, o.ref);
  }
};

struct Walk {
  uint32_t block = kNone;
  std::vector<Item> items;
  size_t next = 0;
  std::vector<uint32_t> frontier;
  Nanos cursor = 0;  // since when it does its own work
  int depth = 0;     // of gaps it is in
  bool force = false;
  uint32_t segments = 0;
  Nanos last_end = INT64_MIN;  // of its last segment
  bool answered = false;       // something came since
  bool told = false;           // some event is of this block
};

class Timeline {
 public:
  Timeline(const TraceFrames& frames, uint32_t trace_index, TimelineNotes& notes,
           std::vector<Draft>& drafts)
      : frames_(frames),
        trace_(trace_index),
        places_(notes.places),
        asked_taps_(notes.taps),
        drafts_(drafts) {
    first_draft_ = drafts.size();
  }

  void Append() {
    Collect();
    finals_.resize(frames_.frames.size());
    firsts_.resize(frames_.frames.size(), UINT32_MAX);
    for (const uint32_t b : frames_.order) {
      if (frames_.frames[b].kind != FrameKind::kRoot) continue;
      const Frame& f = frames_.frames[b];
      const uint32_t input =
          Add(ProvenanceType::kInsert, DraftRole::kInput, b, b, f.arrived, f.arrived, {});
      Enter(b, {input});
      while (!walks_.empty()) Step();
    }
    ResolveTaps();
    for (size_t i = 0; i < asked_taps_.size(); ++i)
      asked_taps_[i].drafts = Resolved(taps_[first_asked_tap_ + i]);
  }

 private:
  const Frame& FrameOf(uint32_t b) const { return frames_.frames[b]; }
  bool IsHead(uint32_t b) const { return FrameOf(b).head == b; }

  // What each block meets on its way.
  void Collect() {
    items_.resize(frames_.frames.size());
    for (const uint32_t b : frames_.order) {
      const Frame& f = FrameOf(b);
      if (f.kind == FrameKind::kRoot) continue;
      if (f.kind == FrameKind::kTaken) {
        const auto tap = AddTap();
        taken_tap_[b] = tap;
        items_[f.parent].push_back({f.sent, ItemKind::kTapped, tap});
      } else if (f.waiter == kNone) {
        items_[f.parent].push_back({f.sent, ItemKind::kDepart, b});
      }
      if (f.waiter == kNone) continue;
      const Nanos begin = f.kind == FrameKind::kTaken ? f.start : f.asked;
      if (begin == f.received) {
        items_[f.waiter].push_back({begin, ItemKind::kCallAndReturn, b});
      } else {
        items_[f.waiter].push_back({begin, ItemKind::kCall, b});
        items_[f.waiter].push_back({f.received, ItemKind::kReturn, b});
      }
    }
    for (const EdgeUse& edge : frames_.edges) {
      const uint32_t tap = AddTap();
      items_[edge.from].push_back({edge.sent, ItemKind::kTapped, tap});
      const Nanos since = edge.waiting != INT64_MAX
                              ? std::max(edge.waiting, FrameOf(edge.to).start)
                              : std::max(FrameOf(edge.from).start, FrameOf(edge.to).start);
      // A block that waits for an answer does nothing else since the other began; the exact time is not
      // recorded.
      if (edge.blocking && since < edge.received && !Above(edge.from, edge.to)) {
        items_[edge.to].push_back({since, ItemKind::kGapBegin, tap});
        items_[edge.to].push_back({edge.received, ItemKind::kGapEnd, tap});
      }
      items_[edge.to].push_back({edge.received, ItemKind::kArrive, tap});
    }
    first_asked_tap_ = taps_.size();
    for (const TimelineTap& tap : asked_taps_)
      items_[tap.block].push_back({tap.time, ItemKind::kTapped, AddTap()});
    for (const LockUse& use : frames_.locks) {
      if (use.waited) {
        items_[use.block].push_back({use.requested, ItemKind::kGapBegin, 0});
        items_[use.block].push_back({use.acquired, ItemKind::kGapEnd, 0, true});
      }
      cuts_[FrameOf(use.block).head].insert(cuts_[FrameOf(use.block).head].end(),
                                            {use.acquired, use.released});
    }
    for (auto& [head, times] : cuts_) {
      std::sort(times.begin(), times.end());
      times.erase(std::unique(times.begin(), times.end()), times.end());
    }
    for (uint32_t p = 0; p < places_.size(); ++p) {
      const TimelinePlace& place = places_[p];
      if (place.side == SpanSide::kStart && !StandsAnyway(place))
        items_[place.block].push_back({FrameOf(place.block).start, ItemKind::kMark, p});
    }
  }

  bool Above(uint32_t ancestor, uint32_t b) const {
    while (b != kNone && b != ancestor) b = frames_.trace->blocks[b].parent;
    return b == ancestor;
  }

  // The first and the last segment of a thread's work are always there.
  bool StandsAnyway(const TimelinePlace& place) const {
    return IsHead(place.block) &&
           (place.side == SpanSide::kStart) == (place.use == PlaceUse::kFrom);
  }

  uint32_t AddTap() {
    taps_.emplace_back();
    return static_cast<uint32_t>(taps_.size() - 1);
  }

  uint32_t Add(ProvenanceType type, DraftRole role, uint32_t block, uint32_t about, Nanos start,
               Nanos end, std::vector<uint32_t> causes) {
    Draft draft;
    draft.type = type;
    draft.role = role;
    draft.trace = trace_;
    draft.block = block;
    draft.about = about;
    draft.start = start;
    draft.end = end;
    draft.causes = std::move(causes);
    drafts_.push_back(std::move(draft));
    return static_cast<uint32_t>(drafts_.size() - 1);
  }

  void Enter(uint32_t b, std::vector<uint32_t> causes) {
    Walk walk;
    walk.block = b;
    walk.items = std::move(items_[b]);
    const auto cuts = cuts_.find(FrameOf(b).head);
    if (cuts != cuts_.end()) {
      const Frame& f = FrameOf(b);
      auto at = std::upper_bound(cuts->second.begin(), cuts->second.end(), f.start);
      for (; at != cuts->second.end() && *at < f.end; ++at)
        walk.items.push_back({*at, ItemKind::kCut, 0});
    }
    std::sort(walk.items.begin(), walk.items.end());
    walk.frontier = std::move(causes);
    walk.cursor = FrameOf(b).start;
    walk.force = IsHead(b) || FrameOf(b).kind == FrameKind::kTaken;
    walks_.push_back(std::move(walk));
  }

  // Ends the stretch of own work at `time`.
  uint32_t EndSegment(Walk& walk, Nanos time) {
    const uint32_t d = Add(ProvenanceType::kDerive, DraftRole::kSegment, walk.block, walk.block,
                           walk.cursor, time, std::move(walk.frontier));
    const Frame& f = FrameOf(walk.block);
    if (walk.segments == 0 && f.arrived < f.start && walk.cursor == f.start)
      drafts_[d].ready = f.arrived;
    drafts_[d].serial = walk.segments++;
    if (drafts_[d].serial == 0) firsts_[walk.block] = d;
    walk.frontier = {d};
    walk.cursor = walk.last_end = time;
    walk.force = walk.answered = false;
    walk.told = true;
    return d;
  }

  void EndStretch(Walk& walk, Nanos time) {
    if (walk.depth == 0 && (time > walk.cursor || walk.force)) EndSegment(walk, time);
  }

  // The causes of a new event. While others are waited for, the latest answer stands for all: a thousand
  // children in a row beside a long one would otherwise have half a million causes.
  static std::vector<uint32_t> Recent(const Walk& walk) {
    if (walk.frontier.size() <= 2) return walk.frontier;
    return {walk.frontier.front(), walk.frontier.back()};
  }

  void LeaveGap(Walk& walk, Nanos time) {
    if (walk.depth > 0 && --walk.depth == 0) walk.cursor = time;
  }

  // Enters a child; its walk ends before this one continues.
  void Start(Walk& walk, uint32_t c) {
    const Frame& f = FrameOf(c);
    std::vector<uint32_t> causes = Recent(walk);
    if (f.kind == FrameKind::kTaken) {
      causes = {kTap | taken_tap_[c]};
    } else if (f.kind == FrameKind::kRemote || f.kind == FrameKind::kReceived) {
      const uint32_t send = Add(ProvenanceType::kSend, DraftRole::kSend, walk.block, c, f.sent,
                                f.sent, std::move(causes));
      walk.told = true;
      causes = {
          Add(ProvenanceType::kReceive, DraftRole::kReceive, c, c, f.arrived, f.arrived, {send})};
    }
    Enter(c, std::move(causes));  // `walk` is invalid from here on
  }

  void Return(Walk& walk, uint32_t c) {
    const Frame& f = FrameOf(c);
    std::vector<uint32_t> done = std::move(finals_[c]);
    if (f.kind == FrameKind::kRemote) {
      const uint32_t reply =
          Add(ProvenanceType::kSend, DraftRole::kReply, c, c, f.end, f.end, std::move(done));
      done = {Add(ProvenanceType::kReceive, DraftRole::kAnswer, walk.block, c, f.received,
                  f.received, {reply})};
      walk.told = true;
    }
    walk.frontier.insert(walk.frontier.end(), done.begin(), done.end());
    walk.answered = true;
  }

  void Step() {
    Walk& walk = walks_.back();
    if (walk.next == walk.items.size()) return Leave();
    Item& item = walk.items[walk.next];
    switch (item.kind) {
      case ItemKind::kReturn:
        Return(walk, item.ref);
        LeaveGap(walk, item.time);
        break;
      case ItemKind::kGapEnd:
        LeaveGap(walk, item.time);
        walk.force |= item.force;
        break;
      case ItemKind::kArrive:
        EndStretch(walk, item.time);
        walk.frontier.push_back(kTap | item.ref);
        walk.answered = true;
        break;
      case ItemKind::kMark:
        places_[item.ref].draft = MarkAt(walk, item.time);
        break;
      case ItemKind::kCut:
        EndStretch(walk, item.time);
        break;
      case ItemKind::kTapped:
        EndStretch(walk, item.time);
        taps_[item.ref] = Recent(walk);
        break;
      case ItemKind::kGapBegin:
        EndStretch(walk, item.time);
        ++walk.depth;
        break;
      case ItemKind::kCall:
        EndStretch(walk, item.time);
        ++walk.depth;
        ++walk.next;
        return Start(walk, item.ref);
      case ItemKind::kDepart:
        EndStretch(walk, item.time);
        ++walk.next;
        return Start(walk, item.ref);
      case ItemKind::kCallAndReturn:
        EndStretch(walk, item.time);
        ++walk.depth;
        item.kind = ItemKind::kReturn;  // met again when the child is done
        return Start(walk, item.ref);
    }
    ++walk.next;
  }

  // A segment of no length, unless there is one already.
  uint32_t MarkAt(Walk& walk, Nanos time) {
    EndStretch(walk, time);
    if (walk.frontier.size() == 1 && !(walk.frontier[0] & kTap)) {
      const Draft& last = drafts_[walk.frontier[0]];
      if (last.role == DraftRole::kSegment && last.block == walk.block && last.start == time)
        return walk.frontier[0];
    }
    walk.cursor = time;
    return EndSegment(walk, time);
  }

  void Leave() {
    Walk& walk = walks_.back();
    const Frame& f = FrameOf(walk.block);
    walk.depth = 0;
    // Its last segment is at its end, and has everything it waited for as causes.
    const bool head_ends = IsHead(walk.block) && (walk.last_end < f.end || walk.answered);
    if (f.end > walk.cursor || walk.force || head_ends || !walk.told) {
      walk.cursor = std::min(walk.cursor, f.end);
      EndSegment(walk, f.end);
    }
    for (TimelinePlace& place : places_) {
      if (place.block != walk.block || place.draft != UINT32_MAX) continue;
      if (place.side == SpanSide::kStart) {
        place.draft = firsts_[walk.block];
      } else {
        place.draft = StandsAnyway(place) ? walk.frontier.back() : MarkAt(walk, f.end);
      }
    }
    finals_[walk.block] = std::move(walk.frontier);
    walks_.pop_back();
  }

  // Taps may lead to taps: a block may do nothing itself between receiving and sending.
  void ResolveTaps() {
    seen_.assign(taps_.size(), 0);
    for (size_t d = first_draft_; d < drafts_.size(); ++d) {
      auto& causes = drafts_[d].causes;
      if (std::none_of(causes.begin(), causes.end(), [](uint32_t c) { return c & kTap; })) continue;
      causes = Resolved(causes);
      causes.erase(std::remove(causes.begin(), causes.end(), static_cast<uint32_t>(d)),
                   causes.end());
    }
  }

  std::vector<uint32_t> Resolved(const std::vector<uint32_t>& causes) {
    std::vector<uint32_t> todo = causes, found;
    ++round_;
    while (!todo.empty()) {
      const uint32_t cause = todo.back();
      todo.pop_back();
      if (!(cause & kTap)) {
        found.push_back(cause);
      } else if (uint32_t& mark = seen_[cause & ~kTap]; mark != round_) {
        mark = round_;
        const auto& more = taps_[cause & ~kTap];
        todo.insert(todo.end(), more.begin(), more.end());
      }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  const TraceFrames& frames_;
  const uint32_t trace_;
  std::vector<TimelinePlace>& places_;
  std::vector<TimelineTap>& asked_taps_;
  std::vector<Draft>& drafts_;
  size_t first_draft_ = 0;
  std::vector<std::vector<Item>> items_;     // by block, until it is walked
  std::vector<std::vector<uint32_t>> taps_;  // what each is caused by
  size_t first_asked_tap_ = 0;
  std::vector<uint32_t> seen_;  // by tap: the last round of resolving that met it
  uint32_t round_ = 0;
  std::map<uint32_t, uint32_t> taken_tap_;       // by block
  std::vector<uint32_t> firsts_;                 // by block: its first segment
  std::map<uint32_t, std::vector<Nanos>> cuts_;  // by head
  std::vector<std::vector<uint32_t>> finals_;    // by block: what its end is caused by
  std::vector<Walk> walks_;
};

}  // namespace

void AppendTimeline(const TraceFrames& frames, uint32_t trace_index, TimelineNotes& notes,
                    std::vector<Draft>& drafts) {
  Timeline(frames, trace_index, notes, drafts).Append();
}

}  // namespace wf::provenance
