// The replay.
//
// Model: a block is a sequence of instants, in recorded order: it begins, starts children, sees the children end that
// it waits for, sends and receives, ends. An instant that ends a wait happens when what it waited for has happened;
// any other happens a while after the instant before it, and that while is the block's own time. So the trace becomes
// a graph of instants without choices: each is the latest of its causes plus a fixed time. Scaling some of these
// times and going through the graph once gives the times of the changed request. With every factor 1 it gives the
// recorded times exactly; that is the invariant to keep.
//
// It is the walk of critical_path.cc read forwards, by the same rules: which children block, times cut to the
// parent's window, small overlaps treated as succession. Unlike a shortened path, it switches to the next
// slowest way by itself.
//
// Limits: order is kept (what was waited for first is waited for first), and waits in queues and for locks
// keep their length unless they are scaled or an edge shows what they waited for.
#include "analysis/critical_path/what_if.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analysis/critical_path/path_graph.h"

namespace wf::critical_path {
namespace {

enum class Step : uint8_t { kBegin, kReceive, kChildEnd, kChildStart, kSend, kPlace, kCut, kEnd };

struct Instant {
  Nanos time;
  Step step;
  uint32_t block;
  uint32_t what;  // child or edge
  bool wait = false;

  // At one time: what ends makes room for what begins.
  auto Order() const {
    const int rank = step == Step::kBegin                                ? 0
                     : step == Step::kReceive || step == Step::kChildEnd ? 1
                     : step == Step::kCut                                ? 3
                     : step == Step::kEnd                                ? 4
                                                                         : 2;
    return std::make_tuple(block, time, rank, step, what);
  }
};

struct WhatIfCause {
  uint32_t from, to;  // instants
  Nanos lag;          // recorded: time of `to` less time of `from`
  double factor;
};

struct Scale {
  double factor = 1;
  bool matched = false;
  Scale operator*(const Scale& o) const { return {factor * o.factor, matched || o.matched}; }
};

class Replayer {
 public:
  Replayer(const Trace& trace, const CriticalPathOptions& options,
           const std::vector<WhatIf>& changes)
      : g_(trace), t_(trace), overlap_(options.overlap), changes_(changes) {
    const uint32_t root = trace.main_root();
    from_ = options.from.value_or(PathPlace{root, trace.blocks[root].start_ns});
    to_ = options.to.value_or(PathPlace{root, trace.blocks[root].end_ns});
  }

  WhatIfAnswer Run() {
    ScaleBlocks();
    CutWindows();
    ListInstants();
    ListCauses();
    Settle();
    WhatIfAnswer answer;
    answer.matched = matched_;
    answer.duration_ns =
        std::max<Nanos>(0, SaturatingSub(then_[PlaceAt(to_)], then_[PlaceAt(from_)]));
    return answer;
  }

 private:
  // ---- 1. Whose own time is scaled by how much.
  Scale ScaleOf(std::string_view service, std::string_view operation, uint64_t span,
                std::string_view type, std::string_view category) const {
    Scale scale;
    for (const WhatIf& change : changes_) {
      const auto is = [&](std::string_view text) {
        return !text.empty() && (change.name == "*" || change.name == text);
      };
      bool matches = false;
      switch (change.by) {
        case WhatIf::By::kService:
          matches = is(service);
          break;
        case WhatIf::By::kOperation:
          matches = is(operation);
          break;
        case WhatIf::By::kType:
          matches = is(type) || is(category);
          break;
        case WhatIf::By::kSpan:
          matches = span == change.span_id;
          break;
      }
      if (matches) scale = scale * Scale{change.factor, true};
    }
    return scale;
  }

  void ScaleBlocks() {
    own_.resize(t_.blocks.size());
    matched_block_.assign(t_.blocks.size(), false);
    matched_edge_.assign(t_.edges.size(), false);
    for (uint32_t b = 0; b < t_.blocks.size(); ++b) {
      const Block& block = t_.blocks[b];
      const PathCategory category = OwnCategory(t_, b);
      own_[b] = {
          ScaleOf(t_.service(block), t_.str(block.name), block.id, {}, PathCategoryName(category)),
          category};
    }
  }

  Scale EdgeScale(uint32_t e) const {
    const Edge& edge = t_.edges[e];
    return ScaleOf({}, {}, 0, t_.edge_type(edge), PathCategoryName(TransitCategory(edge.type)));
  }

  // ---- 2. Rule 2, from the roots down.
  struct Window {
    Nanos lo, hi;
    bool waited_for;  // by its parent, within its window
  };
  void CutWindows() {
    windows_.resize(t_.blocks.size());
    std::vector<uint32_t> stack = t_.roots;
    while (!stack.empty()) {
      const uint32_t b = stack.back();
      stack.pop_back();
      const Block& block = t_.blocks[b];
      Window& window = windows_[b];
      window = {block.start_ns, block.end_ns, false};
      if (block.parent != kNone && !block.async()) {
        const Window& parent = windows_[block.parent];
        const Nanos lo = std::max(block.start_ns, parent.lo),
                    hi = std::min(block.end_ns, parent.hi);
        if (lo < hi) window = {lo, hi, true};
      }
      for (uint32_t i = t_.children_begin[b]; i < t_.children_begin[b + 1]; ++i)
        stack.push_back(t_.children[i]);
    }
  }

  // ---- 3. The instants of each block.
  void Add(uint32_t block, Nanos time, Step step, uint32_t what, bool wait = false) {
    time =
        std::clamp(time, windows_[block].lo, std::max(windows_[block].lo, t_.blocks[block].end_ns));
    instants_.push_back({time, step, block, what, wait});
  }

  bool Waits(uint32_t e) const {
    const Edge& edge = t_.edges[e];
    return edge.blocking && t_.points[edge.from].time_ns <= t_.points[edge.to].time_ns;
  }
  // Received as the block begins: then its parent waited to begin it.
  bool WaitsToBegin(uint32_t e) const {
    return Waits(e) && t_.blocks[g_.receiver(e)].parent != kNone &&
           g_.receipt(e) <= windows_[g_.receiver(e)].lo;
  }

  // The block that starts `b`: its parent, else its first link.
  uint32_t StarterOf(uint32_t b) {
    if (t_.blocks[b].parent != kNone) return t_.blocks[b].parent;
    return b == t_.main_root() ? kNone : g_.FirstLink(b);
  }

  void ListInstants() {
    const auto n = static_cast<uint32_t>(t_.blocks.size());
    starter_.resize(n);
    for (uint32_t b = 0; b < n; ++b) {
      const Block& block = t_.blocks[b];
      const Window& window = windows_[b];
      Add(b, window.lo, Step::kBegin, kNone);
      if (window.hi < block.end_ns) Add(b, window.hi, Step::kCut, kNone);
      Add(b, block.end_ns, Step::kEnd, kNone);
      for (uint32_t i = g_.out_begin[b]; i < g_.out_begin[b + 1]; ++i) {
        if (Waits(g_.out[i])) Add(b, g_.send(g_.out[i]), Step::kSend, g_.out[i]);
      }
      bool waits_to_begin = false;
      for (uint32_t i = g_.in_begin[b]; i < g_.in_begin[b + 1]; ++i) {
        const uint32_t e = g_.in[i];
        if (WaitsToBegin(e))
          waits_to_begin = true;
        else if (Waits(e))
          Add(b, g_.receipt(e), Step::kReceive, e, true);
      }
      starter_[b] = StarterOf(b);
      if (starter_[b] != kNone) Add(starter_[b], window.lo, Step::kChildStart, b, waits_to_begin);
      if (window.waited_for) Add(block.parent, SeenEnded(b), Step::kChildEnd, b, true);
    }
    for (const PathPlace& place : {from_, to_}) {
      const bool inside =
          place.time_ns > windows_[place.block].lo && place.time_ns < t_.blocks[place.block].end_ns;
      if (inside) Add(place.block, place.time_ns, Step::kPlace, kNone);
    }
    std::sort(instants_.begin(), instants_.end(),
              [](const Instant& a, const Instant& b) { return a.Order() < b.Order(); });
    first_.assign(n + 1, 0);
    for (const Instant& instant : instants_) ++first_[instant.block + 1];
    for (uint32_t b = 0; b < n; ++b) first_[b + 1] += first_[b];
    begin_of_.resize(n);
    done_of_.resize(n);
    for (uint32_t i = 0; i < instants_.size(); ++i) {
      const Instant& instant = instants_[i];
      if (instant.step == Step::kBegin) begin_of_[instant.block] = i;
      if (instant.step == Step::kEnd &&
          windows_[instant.block].hi >= t_.blocks[instant.block].end_ns)
        done_of_[instant.block] = i;
      if (instant.step == Step::kCut) done_of_[instant.block] = i;
    }
  }

  // When the parent continues: rule 4 treats a small overlap with the next sibling as succession.
  Nanos SeenEnded(uint32_t b) const {
    const Window& window = windows_[b];
    if (overlap_ == OverlapTolerance::kOff) return window.hi;
    const uint32_t parent = t_.blocks[b].parent;
    const auto begin = t_.children.begin() + t_.children_begin[parent];
    const auto end = t_.children.begin() + t_.children_begin[parent + 1];
    const Nanos length = SaturatingSub(window.hi, window.lo);
    const Nanos earliest =
        std::max(SaturatingSub(window.hi, std::min(kMaxOverlap, length / kOverlapShare)),
                 SaturatingAdd(window.lo, 1));
    auto at = std::lower_bound(
        begin, end, earliest, [&](uint32_t c, Nanos time) { return t_.blocks[c].start_ns < time; });
    for (; at != end && t_.blocks[*at].start_ns < window.hi; ++at) {
      const Window& next = windows_[*at];
      if (next.waited_for &&
          Tolerable(SaturatingSub(window.hi, next.lo), length, SaturatingSub(next.hi, next.lo)))
        return next.lo;
    }
    return window.hi;
  }

  // ---- 4. What each instant waits for.
  void Link(uint32_t from, uint32_t to, double factor) {
    causes_.push_back({from, to, SaturatingSub(instants_[to].time, instants_[from].time), factor});
  }

  void ListCauses() {
    std::vector<uint32_t> sent(t_.edges.size(), kNone);
    for (uint32_t i = 0; i < instants_.size(); ++i) {
      if (instants_[i].step == Step::kSend) sent[instants_[i].what] = i;
    }
    // The last instant of the block's own line; children it waits for.
    uint32_t line = 0, running = 0;
    for (uint32_t i = 0; i < instants_.size(); ++i) {
      const Instant& instant = instants_[i];
      if (i == first_[instant.block]) {
        running = 0;
      } else if (instant.wait) {
        causes_.push_back({line, i, 0, 1});  // not before what the block did before
      } else {
        Link(i - 1, i, OwnFactor(i));
      }
      const bool child = instant.step == Step::kChildStart || instant.step == Step::kChildEnd;
      const bool waited_for = child && windows_[instant.what].waited_for;
      if (waited_for) running += instant.step == Step::kChildStart ? 1 : UINT32_MAX;
      // What a block starts or sends while it waits for a child does not hold up the end of that wait.
      const bool aside = (instant.step == Step::kChildStart && !waited_for) ||
                         instant.step == Step::kSend || instant.step == Step::kPlace;
      if (running == 0 || !aside) line = i;
      switch (instant.step) {
        case Step::kChildEnd:
          Link(done_of_[instant.what], i, 1);
          break;
        case Step::kReceive:
          LinkEdge(sent[instant.what], i, instant.what);
          break;
        case Step::kChildStart:
          // A child that began when its starter was over waited in between.
          Link(i, begin_of_[instant.what],
               OwnGap(instant.what, PathCategory::kQueue,
                      SaturatingSub(instants_[begin_of_[instant.what]].time, instant.time)));
          if (!instant.wait) break;
          for (uint32_t k = g_.in_begin[instant.what]; k < g_.in_begin[instant.what + 1]; ++k) {
            if (WaitsToBegin(g_.in[k])) LinkEdge(sent[g_.in[k]], i, g_.in[k]);
          }
          break;
        default:
          break;
      }
    }
  }

  void LinkEdge(uint32_t send, uint32_t receive, uint32_t edge) {
    const Scale scale = EdgeScale(edge);
    if (scale.matched && instants_[receive].time > instants_[send].time && !matched_edge_[edge]) {
      matched_edge_[edge] = true;
      ++matched_;
    }
    Link(send, receive, scale.factor);
  }

  double Match(uint32_t b, Nanos time, Scale scale) {
    if (scale.matched && time > 0 && !matched_block_[b]) {
      matched_block_[b] = true;
      ++matched_;
    }
    return scale.factor;
  }

  double OwnGap(uint32_t b, PathCategory category, Nanos gap) {
    if (gap <= 0) return 1;
    const Block& block = t_.blocks[b];
    return Match(
        b, gap,
        ScaleOf(t_.service(block), t_.str(block.name), block.id, {}, PathCategoryName(category)));
  }

  // Of the time before instant i. A CLIENT's before and after its SERVER is the way of request and response.
  double OwnFactor(uint32_t i) {
    const Instant& now = instants_[i];
    const Instant& before = instants_[i - 1];
    Scale scale = own_[now.block].scale;
    if (own_[now.block].category == PathCategory::kNetwork) {
      const auto edge_type = [&](EdgeType type) {
        return ScaleOf({}, {}, 0, EdgeTypeName(type), {});
      };
      if (before.step == Step::kBegin && now.step == Step::kChildStart &&
          g_.request_of[now.what] != kNone)
        scale = scale * edge_type(EdgeType::kRequest);
      if (before.step == Step::kChildEnd && now.step == Step::kEnd &&
          g_.response_of[before.what] != kNone)
        scale = scale * edge_type(EdgeType::kResponse);
    }
    return Match(now.block, SaturatingSub(now.time, before.time), scale);
  }

  // ---- 5. Each instant after all its causes.
  static Nanos Scaled(const WhatIfCause& cause) {
    if (cause.factor == 1 || cause.lag <= 0) return cause.lag;
    // In doubles: 0.7 of 10 is 7. Durations below 2^53 ns (104 days) are exact.
    const double scaled = std::floor(static_cast<double>(cause.lag) * cause.factor);
    return scaled >= 9.2e18 ? INT64_MAX : static_cast<Nanos>(scaled);
  }

  void Settle() {
    const auto n = static_cast<uint32_t>(instants_.size());
    std::vector<uint32_t> out_begin(n + 1, 0), waiting(n, 0), out(causes_.size());
    for (const WhatIfCause& cause : causes_) ++out_begin[cause.from + 1], ++waiting[cause.to];
    for (uint32_t i = 0; i < n; ++i) out_begin[i + 1] += out_begin[i];
    std::vector<uint32_t> fill(out_begin.begin(), out_begin.end() - 1);
    for (uint32_t c = 0; c < causes_.size(); ++c) out[fill[causes_[c].from]++] = c;

    then_.assign(n, INT64_MIN);
    std::vector<bool> settled(n, false);
    std::vector<uint32_t> ready, by_time(n);
    for (uint32_t i = 0; i < n; ++i) {
      by_time[i] = i;
      if (waiting[i] == 0) ready.push_back(i);
    }
    const auto settle_ready = [&] {
      while (!ready.empty()) {
        const uint32_t i = ready.back();
        ready.pop_back();
        if (settled[i]) continue;
        settled[i] = true;
        if (then_[i] == INT64_MIN) then_[i] = instants_[i].time;  // nothing caused it: as recorded
        for (uint32_t k = out_begin[i]; k < out_begin[i + 1]; ++k) {
          const WhatIfCause& cause = causes_[out[k]];
          then_[cause.to] = std::max(then_[cause.to], SaturatingAdd(then_[i], Scaled(cause)));
          if (--waiting[cause.to] == 0) ready.push_back(cause.to);
        }
      }
    };
    settle_ready();
    // Edges without length may lead in a circle: the earliest of those left happens as recorded.
    std::sort(by_time.begin(), by_time.end(), [&](uint32_t a, uint32_t b) {
      return std::tie(instants_[a].time, a) < std::tie(instants_[b].time, b);
    });
    for (const uint32_t i : by_time) {
      if (settled[i]) continue;
      then_[i] = std::max(then_[i], instants_[i].time);
      ready.push_back(i);
      settle_ready();
    }
  }

  uint32_t PlaceAt(const PathPlace& place) const {
    const uint32_t b = place.block;
    if (place.time_ns <= windows_[b].lo) return begin_of_[b];
    uint32_t found = begin_of_[b];
    for (uint32_t i = first_[b]; i < first_[b + 1]; ++i) {
      if (instants_[i].time <= place.time_ns) found = i;
    }
    return found;
  }

  struct Own {
    Scale scale;
    PathCategory category = PathCategory::kSelf;
  };
  const PathGraph g_;
  const Trace& t_;
  const OverlapTolerance overlap_;
  const std::vector<WhatIf>& changes_;
  PathPlace from_, to_;
  int64_t matched_ = 0;
  std::vector<Own> own_;
  std::vector<bool> matched_block_, matched_edge_;
  std::vector<Window> windows_;
  std::vector<uint32_t> starter_;
  std::vector<Instant> instants_;                     // by block, then time
  std::vector<uint32_t> first_, begin_of_, done_of_;  // per block
  std::vector<WhatIfCause> causes_;
  std::vector<Nanos> then_;  // per instant: its time in the changed request
};

}  // namespace

WhatIfAnswer Replay(const Trace& trace, const CriticalPathOptions& options,
                    const std::vector<WhatIf>& changes) {
  if (trace.main_root() == kNone) return {};
  return Replayer(trace, options, changes).Run();
}

}  // namespace wf::critical_path
