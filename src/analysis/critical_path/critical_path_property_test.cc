// Properties of the critical path over random traces, against a second implementation that follows the rules of
// docs/concepts/critical-path.md word by word, without a thought for speed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "analysis/critical_path/path_cases.h"
#include "analysis/critical_path/random_traces_test.h"

namespace wf::critical_path {
namespace {

// A thousand cases each, unless told otherwise; read when the first property is checked.
const bool kCasesSet = (setenv("RC_PARAMS", "max_success=1000", 0), true);

using testing::AnyTrace;
using testing::EventLines;

// ---- The rules, word by word.

struct Piece {
  uint64_t block;
  Nanos start, end;
  bool operator==(const Piece&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Piece& p) {
  return out << p.block << " " << p.start << ".." << p.end;
}

// Adjacent pieces of one block are one.
std::vector<Piece> Joined(std::vector<Piece> pieces) {
  std::vector<Piece> out;
  for (const Piece& p : pieces) {
    if (p.start == p.end) continue;
    if (!out.empty() && out.back().block == p.block && out.back().end == p.start)
      out.back().end = p.end;
    else
      out.push_back(p);
  }
  return out;
}

std::vector<Piece> PiecesOf(const Trace& trace, const CriticalPath& path) {
  std::vector<Piece> pieces;
  for (const PathSegment& s : path.segments)
    pieces.push_back({trace.blocks[s.block].id, s.start_ns, s.end_ns});
  return Joined(pieces);
}

// Rules 1 to 4, for a tree: as the contract says them, by recursion.
class TreeRules {
 public:
  TreeRules(const Trace& trace, OverlapTolerance overlap) : t_(trace), overlap_(overlap) {}
  std::vector<Piece> Path() {
    const Block& root = t_.blocks[t_.main_root()];
    Enter(t_.main_root(), root.start_ns, root.end_ns);
    std::reverse(pieces_.begin(), pieces_.end());
    return Joined(pieces_);
  }

 private:
  struct Child {
    uint32_t block;
    Nanos start, end;
  };
  void Enter(uint32_t span, Nanos lo, Nanos hi) {
    std::vector<Child> children;
    for (uint32_t b = 0; b < t_.blocks.size(); ++b) {
      const Block& block = t_.blocks[b];
      if (block.parent != span || !Blocks(block)) continue;
      const Nanos start = std::max(block.start_ns, lo), end = std::min(block.end_ns, hi);
      if (start < end) children.push_back({b, start, end});
    }
    Nanos t = hi;
    const Child* before = nullptr;
    while (true) {
      std::vector<Child> causes;
      for (const Child& c : children) {
        if (c.end <= t) {
          causes.push_back(c);
        } else if (before != nullptr && c.start < t && overlap_ == OverlapTolerance::kOn) {
          const Nanos both = std::min(c.end, before->end) - std::max(c.start, before->start);
          const Nanos shorter = std::min(c.end - c.start, before->end - before->start);
          if (both <= 1'000'000 && 20 * both <= shorter) causes.push_back({c.block, c.start, t});
        }
      }
      if (causes.empty()) break;
      const Child chosen = *std::min_element(causes.begin(), causes.end(), [&](auto& a, auto& b) {
        return std::make_tuple(-a.end, a.start, t_.blocks[a.block].id) <
               std::make_tuple(-b.end, b.start, t_.blocks[b.block].id);
      });
      pieces_.push_back({t_.blocks[span].id, chosen.end, t});
      Enter(chosen.block, chosen.start, chosen.end);
      t = chosen.start;
      for (const Child& c : children) {
        if (c.block == chosen.block) before = &c;
      }
    }
    pieces_.push_back({t_.blocks[span].id, lo, t});
  }
  bool Blocks(const Block& block) const {
    const Block& parent = t_.blocks[block.parent];
    if (parent.stand_in()) return true;
    if (block.reference == ParentRef::kFollowsFrom) return false;
    return !(block.kind == BlockKind::kConsumer && parent.kind != BlockKind::kConsumer);
  }

  const Trace& t_;
  const OverlapTolerance overlap_;
  std::vector<Piece> pieces_;  // backwards
};

// Rule 5 as well, for any trace without links: every cause is looked at again at every step.
class AllRules {
 public:
  explicit AllRules(const Trace& trace) : t_(trace) {}
  std::vector<Piece> Path() {
    const Block& root = t_.blocks[t_.main_root()];
    start_ = root.start_ns;
    block_ = t_.main_root();
    now_ = root.end_ns;
    while (now_ > start_) Step();
    std::reverse(pieces_.begin(), pieces_.end());
    return Joined(pieces_);
  }

 private:
  struct Cause {
    Nanos end, start;
    uint64_t id;
    uint32_t index;
    bool edge;
    auto Order() const { return std::make_tuple(-end, start, id, edge, index); }
  };
  void Step() {
    const Block& span = t_.blocks[block_];
    windows_.emplace(block_, std::make_pair(std::max(span.start_ns, start_), span.end_ns));
    const auto [lo, hi] = windows_[block_];
    std::vector<Cause> causes;
    for (uint32_t b = 0; b < t_.blocks.size(); ++b) {
      const Block& child = t_.blocks[b];
      const Nanos start = std::max(child.start_ns, lo), end = std::min(child.end_ns, hi);
      if (child.parent != block_ || child.async() || start >= end) continue;
      if (end <= now_ || Tolerated(start, end, lo, hi))
        causes.push_back({std::min(end, now_), start, child.id, b, false});
    }
    for (uint32_t e = 0; e < t_.edges.size(); ++e) {
      const Edge& edge = t_.edges[e];
      const Point &sent = t_.points[edge.from], &received = t_.points[edge.to];
      if (sent.type != PointType::kOfEvent || !edge.blocking || received.block != block_) continue;
      if (used_.count(e) || received.time_ns > now_ || received.time_ns < lo) continue;
      if (received.time_ns > hi) continue;
      causes.push_back(
          {received.time_ns, std::min(sent.time_ns, received.time_ns), edge.id, e, true});
    }
    if (causes.empty()) {
      Take(block_, lo);
      Leave();
      return;
    }
    const Cause cause = *std::min_element(causes.begin(), causes.end(),
                                          [](auto& a, auto& b) { return a.Order() < b.Order(); });
    Take(block_, cause.end);
    came_from_ = kNone;
    if (cause.edge) {
      used_.insert(cause.index);
      Take(block_, cause.start);
      waiting_.push_back(block_);
      block_ = t_.points[t_.edges[cause.index].from].block;
    } else {
      block_ = cause.index;
      windows_.emplace(block_, std::make_pair(cause.start, cause.end));
    }
  }
  bool Tolerated(Nanos start, Nanos end, Nanos lo, Nanos hi) const {
    if (came_from_ == kNone || start >= now_) return false;
    const Block& before = t_.blocks[came_from_];
    const Nanos from = std::max(before.start_ns, lo), to = std::min(before.end_ns, hi);
    if (from >= to) return false;  // rule 2: an empty one takes no part, not even as the one before
    const Nanos both = std::min(end, to) - std::max(start, from);
    return from == now_ && both <= 1'000'000 && 20 * both <= std::min(end - start, to - from);
  }
  void Leave() {
    const uint32_t parent = t_.blocks[block_].parent;
    came_from_ = kNone;
    if (parent != kNone) {
      came_from_ = t_.blocks[parent].end_ns < now_ ? kNone : block_;
      Take(block_, t_.blocks[parent].end_ns);
      block_ = parent;
    } else if (!waiting_.empty()) {
      block_ = waiting_.back();
      waiting_.pop_back();
    } else {
      Take(block_, start_);
    }
  }
  void Take(uint32_t block, Nanos from) {
    from = std::max(from, start_);
    if (from >= now_) return;
    pieces_.push_back({t_.blocks[block].id, from, now_});
    now_ = from;
  }

  const Trace& t_;
  Nanos start_ = 0, now_ = 0;
  uint32_t block_ = kNone, came_from_ = kNone;
  std::map<uint32_t, std::pair<Nanos, Nanos>> windows_;
  std::set<uint32_t> used_;
  std::vector<uint32_t> waiting_;
  std::vector<Piece> pieces_;  // backwards
};

// What comes after a place, nanosecond by nanosecond, for traces whose children start within their parents.
class Spread {
 public:
  Spread(const Trace& trace, PathPlace from) : t_(trace) {
    Visit(from.block, from.time_ns);
    while (!next_.empty()) {
      const auto [b, time] = next_.back();
      next_.pop_back();
      const Block& block = t_.blocks[b];
      for (uint32_t c = 0; c < t_.blocks.size(); ++c) {
        const Block& other = t_.blocks[c];
        if (other.parent == b && other.start_ns >= time) Visit(c, other.start_ns);
      }
      if (block.parent != kNone && !block.async()) {
        const Nanos end = std::min(block.end_ns, t_.blocks[block.parent].end_ns);
        if (end >= time) Visit(block.parent, end);
      }
      for (const Edge& edge : t_.edges) {
        const Point &sent = t_.points[edge.from], &received = t_.points[edge.to];
        const bool begins = t_.blocks[received.block].begin_point == edge.to;
        const bool nested = sent.type != PointType::kOfEvent;
        if (nested && !begins) continue;  // a return: the child's end says it
        if (sent.block == b && sent.time_ns >= time)
          Visit(received.block, std::max(sent.time_ns, received.time_ns));
      }
    }
  }
  bool Covers(uint32_t block, Nanos time) const {
    const auto at = since_.find(block);
    return at != since_.end() && at->second <= time;
  }

 private:
  void Visit(uint32_t block, Nanos time) {
    const auto [at, fresh] = since_.emplace(block, time);
    if (!fresh && at->second <= time) return;
    at->second = time;
    next_.emplace_back(block, time);
  }
  const Trace& t_;
  std::map<uint32_t, Nanos> since_;
  std::vector<std::pair<uint32_t, Nanos>> next_;
};

// ---- What must hold.

void CheckPartition(const CriticalPath& path) {
  Nanos reached = path.start_ns;
  for (const PathSegment& s : path.segments) {
    RC_ASSERT(s.start_ns == reached);
    RC_ASSERT(s.end_ns > s.start_ns);
    reached = s.end_ns;
  }
  RC_ASSERT(reached == path.end_ns);
}

void CheckPlaces(const Trace& trace, const CriticalPath& path) {
  for (size_t i = 0; i < path.segments.size(); ++i) {
    const PathSegment& s = path.segments[i];
    const Block& block = trace.blocks[s.block];
    if (i > 0) {
      const PathSegment& p = path.segments[i - 1];
      RC_ASSERT(p.block != s.block || p.category != s.category || p.edge != s.edge);
    }
    RC_ASSERT(s.end_ns <= block.end_ns);
    // Before its start a block can only have waited: to be started, or for an edge.
    if (s.category == PathCategory::kSelf) RC_ASSERT(s.start_ns >= block.start_ns);
    if (s.edge == kNone) continue;
    RC_ASSERT(trace.points[trace.edges[s.edge].to].block == s.block ||
              trace.edges[s.edge].type == EdgeType::kRequest);
  }
}

TEST(CriticalPathProperty, OfATreeIsWhatTheRulesSay) {
  EXPECT_TRUE(rc::check("against rules 1 to 4 word by word", [] {
    const std::string text = AnyTrace({});
    RC_LOG() << text;
    const auto overlap = *rc::gen::element(OverlapTolerance::kOn, OverlapTolerance::kOff);
    EventLines lines(text);
    const Trace trace = BuildTrace(lines.batch);
    CriticalPathOptions options;
    options.overlap = overlap;
    const auto path = FindCriticalPath(trace, options);
    RC_ASSERT(path.ok());
    CheckPartition(*path);
    CheckPlaces(trace, *path);
    RC_ASSERT(PiecesOf(trace, *path) == TreeRules(trace, overlap).Path());
  }));
}

TEST(CriticalPathProperty, WithEdgesIsWhatTheRulesSayInAnyOrderOfEvents) {
  EXPECT_TRUE(rc::check("trees, several roots, edges; shuffled", [] {
    const std::string text = AnyTrace({true, false, 3});
    RC_LOG() << text;
    EventLines lines(text), again(text);
    const Trace trace = BuildTrace(lines.batch);
    const auto path = FindCriticalPath(trace, {});
    RC_ASSERT(path.ok());
    CheckPartition(*path);
    CheckPlaces(trace, *path);
    RC_ASSERT(PiecesOf(trace, *path) == AllRules(trace).Path());
    std::vector<uint32_t> rows(again.batch.size());
    std::iota(rows.begin(), rows.end(), 0);
    std::reverse(rows.begin(), rows.end());
    const Trace other = BuildTrace(again.batch, rows);
    RC_ASSERT(testing::PathText(trace, lines.words, path) ==
              testing::PathText(other, again.words, FindCriticalPath(other, {})));
  }));
}

TEST(CriticalPathProperty, BetweenTwoPlacesIsAllThatComesAfterTheFirst) {
  EXPECT_TRUE(rc::check("a path exists where causality leads, and stays in what it reaches", [] {
    const std::string text = AnyTrace({true, true, 3});
    RC_LOG() << text;
    EventLines lines(text);
    const Trace trace = BuildTrace(lines.batch);
    const auto place = [&] {
      const auto b = *rc::gen::inRange<uint32_t>(0, static_cast<uint32_t>(trace.blocks.size()));
      return PathPlace{b, *rc::gen::element(trace.blocks[b].start_ns, trace.blocks[b].end_ns)};
    };
    CriticalPathOptions options;
    options.from = *rc::gen::arbitrary<bool>()
                       ? place()
                       : PathPlace{trace.main_root(), trace.blocks[trace.main_root()].start_ns};
    options.to = place();
    options.overlap = OverlapTolerance::kOff;
    const Spread after(trace, *options.from);
    const auto path = FindCriticalPath(trace, options);
    RC_ASSERT(path.ok() == after.Covers(options.to->block, options.to->time_ns));
    if (!path.ok()) return;
    RC_CLASSIFY(path->segments.size() > 2, "long");
    CheckPartition(*path);
    CheckPlaces(trace, *path);
    if (!trace.usable()) return;  // clocks contradict: only the partition is promised
    for (const PathSegment& s : path->segments) RC_ASSERT(after.Covers(s.block, s.end_ns));
  }));
}

TEST(CriticalPathProperty, TheRootsPlacesAreTheDefault) {
  EXPECT_TRUE(rc::check("one tree: asking for the root's start and end changes nothing", [] {
    const std::string text = AnyTrace({});
    RC_LOG() << text;
    EventLines lines(text);
    const Trace trace = BuildTrace(lines.batch);
    const Block& root = trace.blocks[trace.main_root()];
    CriticalPathOptions options;
    options.from = PathPlace{trace.main_root(), root.start_ns};
    options.to = PathPlace{trace.main_root(), root.end_ns};
    const auto plain = FindCriticalPath(trace, {}), asked = FindCriticalPath(trace, options);
    RC_ASSERT(testing::PathText(trace, lines.words, plain) ==
              testing::PathText(trace, lines.words, asked));
  }));
}

}  // namespace
}  // namespace wf::critical_path
