// Dijkstra's algorithm over blocks, keyed by time: causality nearly always leads forward. Where it does not (a child
// that a skewed clock puts before its parent, siblings that overlap within the tolerance) a block is looked at again.
#include "analysis/critical_path/happened_before.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace wf::critical_path {
namespace {

class Spread {
 public:
  Spread(const PathGraph& graph, OverlapTolerance overlap)
      : g_(graph), t_(graph.trace), overlap_(overlap), reached_(graph.trace.blocks.size()) {}

  std::vector<Reached> From(PathPlace from) {
    Reach(from.block, from.time_ns, ReachedVia::kPlace, kNone);
    while (!queue_.empty()) {
      const auto [time, b] = queue_.top();
      queue_.pop();
      if (time != reached_[b].time_ns) continue;  // reached earlier since
      IntoChildren(b);
      AlongEdges(b);
      IntoParent(b);
    }
    return std::move(reached_);
  }

 private:
  void Reach(uint32_t b, Nanos time, ReachedVia via, uint32_t what) {
    Reached& r = reached_[b];
    if (time > r.time_ns) return;
    if (time == r.time_ns) {
      // Of several ways at one instant, parentage is the plainest.
      if (via == ReachedVia::kParent && r.via != ReachedVia::kPlace) r = {time, via, what};
      return;
    }
    r = {time, via, what};
    queue_.emplace(time, b);
  }

  bool Whole(uint32_t b) const { return reached_[b].time_ns <= t_.blocks[b].start_ns; }

  void IntoChildren(uint32_t b) {
    const auto begin = t_.children.begin() + t_.children_begin[b];
    const auto end = t_.children.begin() + t_.children_begin[b + 1];
    // A child of a block that came after the place as a whole did so too, whatever its clock says.
    auto at = Whole(b)
                  ? begin
                  : std::lower_bound(begin, end, reached_[b].time_ns, [&](uint32_t c, Nanos time) {
                      return t_.blocks[c].start_ns < time;
                    });
    for (; at != end; ++at) Reach(*at, t_.blocks[*at].start_ns, ReachedVia::kParent, b);
  }

  void AlongEdges(uint32_t b) {
    const Nanos since = reached_[b].time_ns;
    for (uint32_t i = g_.out_begin[b]; i < g_.out_begin[b + 1]; ++i) {
      const uint32_t e = g_.out[i];
      const Edge& edge = t_.edges[e];
      const uint32_t to = g_.receiver(e);
      if (edge.type == EdgeType::kLink && t_.blocks[to].begin_point == edge.to) {
        // A link names a block, not an instant of it: what it did until then came before.
        if (since <= std::max(t_.blocks[to].start_ns, t_.blocks[b].start_ns))
          Reach(to, t_.blocks[to].start_ns, ReachedVia::kLink, b);
      } else if (t_.points[edge.from].time_ns >= since) {
        // Received before it was sent: a clock is wrong, and the later of the two is certain.
        Reach(to, std::max(g_.receipt(e), t_.points[edge.from].time_ns), ReachedVia::kEdge, e);
      }
    }
  }

  void IntoParent(uint32_t b) {
    const Block& block = t_.blocks[b];
    if (block.parent == kNone || block.async()) return;
    const Block& parent = t_.blocks[block.parent];
    const Nanos end = std::min(block.end_ns, parent.end_ns);
    if (reached_[b].time_ns > end || end < parent.start_ns) return;
    Reach(block.parent, end, ReachedVia::kChild, b);
    if (overlap_ == OverlapTolerance::kOff || Whole(block.parent)) return;
    const auto begin = t_.children.begin() + t_.children_begin[block.parent];
    const auto last = t_.children.begin() + t_.children_begin[block.parent + 1];
    const Nanos earliest =
        std::max(SaturatingSub(end, kMaxOverlap), SaturatingAdd(block.start_ns, 1));
    auto at = std::lower_bound(begin, last, earliest, [&](uint32_t c, Nanos time) {
      return t_.blocks[c].start_ns < time;
    });
    for (; at != last && t_.blocks[*at].start_ns < end; ++at) {
      const Block& next = t_.blocks[*at];
      const Nanos next_end = std::min(next.end_ns, parent.end_ns);
      if (Tolerable(SaturatingSub(end, next.start_ns),
                    SaturatingSub(end, std::max(block.start_ns, parent.start_ns)),
                    SaturatingSub(next_end, next.start_ns)))
        Reach(*at, next.start_ns, ReachedVia::kSibling, b);
    }
  }

  using Entry = std::pair<Nanos, uint32_t>;
  const PathGraph& g_;
  const Trace& t_;
  const OverlapTolerance overlap_;
  std::vector<Reached> reached_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

std::vector<Reached> HappenedBefore(const PathGraph& graph, PathPlace from,
                                    OverlapTolerance overlap) {
  return Spread(graph, overlap).From(from);
}

}  // namespace wf::critical_path
