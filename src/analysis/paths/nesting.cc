#include "analysis/paths/nesting.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/paths/late_calls.h"
#include "analysis/paths/scoreboard.h"

namespace wf::paths {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

// Sums of equal shares differ in their last digits with the order they were added in; such scores are a tie.
constexpr double kMoreThanRounding = 1 + 1e-9;

// A call as the callee sees it, and as the caller does.
struct Arrival {
  Nanos received, replied;
  uint32_t call;
  NodeId caller;
};
struct Departure {
  Nanos sent, returned;
  uint32_t call;
  NodeId callee;
};

// A call into the node that is swept, while it may still be a parent.
struct OpenCall {
  Nanos received, replied;
  uint32_t call;
  NodeId caller;
  uint32_t kids = 0;          // given to it so far
  uint32_t last_kid = kNone;  // those that may overlap a later one, newest first: a list in kids_
};
struct Kid {
  Nanos sent, returned;
  NodeId callee;
  uint32_t before;
};

// Calls of a span by the node they go to, or leave from, each node's in order of time (ties: of lines).
template <typename End>
class ByNode {
 public:
  template <typename NodeOf, typename MakeEnd, typename TimeOf, typename Wanted>
  void Fill(std::span<const Call> calls, size_t nodes, NodeOf node_of, MakeEnd make, TimeOf time_of,
            Wanted wanted) {
    begin_.assign(nodes + 1, 0);
    for (const Call& call : calls)
      if (wanted(call)) ++begin_[node_of(call) + 1];
    for (size_t n = 0; n < nodes; ++n) begin_[n + 1] += begin_[n];
    ends_.resize(begin_[nodes]);
    next_.assign(begin_.begin(), begin_.end());
    for (uint32_t i = 0; i < calls.size(); ++i)
      if (wanted(calls[i])) ends_[next_[node_of(calls[i])]++] = make(calls[i], i);
    for (size_t n = 0; n < nodes; ++n) {
      std::sort(ends_.begin() + begin_[n], ends_.begin() + begin_[n + 1],
                [&](const End& a, const End& b) {
                  const Nanos at = time_of(a), bt = time_of(b);
                  return at != bt ? at < bt : calls[a.call].place < calls[b.call].place;
                });
    }
  }
  size_t nodes() const { return begin_.size() - 1; }
  std::span<const End> At(size_t node) const {
    return {ends_.data() + begin_[node], begin_[node + 1] - begin_[node]};
  }

 private:
  std::vector<End> ends_;
  std::vector<uint32_t> begin_, next_;
};

// (1 + c)^-power, precomputed for small c.
class Penalty {
 public:
  explicit Penalty(double power) : power_(power) {
    for (size_t c = 0; c < small_.size(); ++c) small_[c] = Of(static_cast<double>(c));
  }
  bool on() const { return power_ != 0; }
  double At(uint32_t c) const { return c < small_.size() ? small_[c] : Of(c); }

 private:
  double Of(double c) const { return std::pow(1 + c, -power_); }
  double power_;
  std::array<double, 64> small_;
};

}  // namespace

void Decisions::Resize(size_t calls) {
  parent.resize(calls, kUndecided);
  p.resize(calls, 1.0f);
}

struct Nesting::Impl {
  explicit Impl(const NestingOptions& o)
      : options(o), overlap(o.overlap_penalty), same(o.same_penalty), any(o.any_penalty) {}

  enum class Pass { kScore, kDecide };

  NestingOptions options;
  Penalty overlap, same, any;
  const DelayBins& bins = DelayBins::Get();
  Scoreboard board, late_board;
  LateCalls late_calls;
  NestingCounts counts;

  // For the current span.
  std::span<const Call> calls;
  Decisions* decisions = nullptr;
  ByNode<Arrival> arrivals;
  ByNode<Departure> departures;

  // For the current node.
  NodeId node = 0;
  std::vector<OpenCall> open;
  std::vector<OpenCall> answered;  // the latest of them, oldest first
  std::vector<Kid> kids;
  std::vector<uint32_t> nested;       // calls by callee
  std::vector<OpenCall*> candidates;  // of one child
  std::vector<double> scores;         // beside candidates
  std::vector<Nanos> delays;          // of one child that nests in nothing

  void Group(Nanos until) {
    size_t nodes = 0;
    for (const Call& call : calls)
      nodes = std::max<size_t>(nodes, std::max(call.caller, call.callee) + size_t{1});
    arrivals.Fill(
        calls, nodes, [](const Call& c) { return c.callee; },
        [](const Call& c, uint32_t i) {
          return Arrival{c.received_ns, c.replied_ns, i, c.caller};
        },
        [](const Arrival& a) { return a.received; }, [](const Call& c) { return c.returned; });
    departures.Fill(
        calls, nodes, [](const Call& c) { return c.caller; },
        [](const Call& c, uint32_t i) {
          // A return before its call is skew: the call is taken to have been over at once.
          return Departure{c.sent_ns, std::max(c.sent_ns, c.returned_ns), i, c.callee};
        },
        [](const Departure& d) { return d.sent; },
        [until](const Call& c) { return c.returned && c.sent_ns < until; });
    nested.resize(std::max(nested.size(), nodes), 0);
  }

  bool MayCause(const OpenCall& parent, const Departure& child) const {
    if (parent.call == child.call) return false;
    if (options.rule == CandidateRule::kAny) return true;
    return calls[child.call].path != 0 && calls[parent.call].path == calls[child.call].path;
  }

  // Arrivals up to the child's departure are opened, those that were answered before it are set aside; the candidates
  // are those that last as long as the child does.
  void FindCandidates(std::span<const Arrival> arrived, size_t& next, const Departure& child) {
    const Nanos window = options.skew_window;
    for (; next < arrived.size() && arrived[next].received <= child.sent + window; ++next) {
      const Arrival& a = arrived[next];
      open.push_back({a.received, a.replied, a.call, a.caller});
    }
    size_t kept = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].replied + window < child.sent) {
        answered.push_back(open[i]);
        continue;
      }
      if (kept != i) open[kept] = open[i];
      ++kept;
    }
    open.resize(kept);
    if (answered.size() > 4 * LateCalls::kLatest)
      answered.erase(answered.begin(), answered.end() - LateCalls::kLatest);
    candidates.clear();
    for (OpenCall& parent : open)
      if (parent.replied + window >= child.returned && MayCause(parent, child))
        candidates.push_back(&parent);
  }

  // For a child that nests in nothing: the latest calls into its node, whether answered before it left or before it
  // returned.
  void FindLateCandidates(const Departure& child) {
    candidates.clear();
    if (options.after_reply == 0) return;
    const auto consider = [&](OpenCall& parent) {
      if (parent.replied + options.after_reply >= child.sent && parent.received <= child.sent &&
          MayCause(parent, child))
        candidates.push_back(&parent);
    };
    for (OpenCall& parent : answered) consider(parent);
    for (OpenCall& parent : open) consider(parent);
    std::sort(candidates.begin(), candidates.end(), [&](const OpenCall* a, const OpenCall* b) {
      return a->received != b->received ? a->received < b->received
                                        : calls[a->call].place < calls[b->call].place;
    });
    if (candidates.size() > LateCalls::kLatest)
      candidates.erase(candidates.begin(), candidates.end() - LateCalls::kLatest);
  }

  void ScoreChild(const Departure& child) {
    Scoreboard* to = &board;
    if (!candidates.empty()) {
      ++counts.children;
      counts.candidates += candidates.size();
      ++nested[child.callee];
    } else {
      FindLateCandidates(child);
      delays.clear();
      for (const OpenCall* parent : candidates) delays.push_back(child.sent - parent->received);
      const Nanos seen =
          candidates.size() == LateCalls::kLatest ? delays.front() : options.after_reply;
      if (options.after_reply > 0)
        late_calls.CountAlone(node, child.callee, delays, std::max<Nanos>(seen, 1));
      to = &late_board;
    }
    const double share = 1.0 / static_cast<double>(candidates.size());
    WeightedDelays* histogram = nullptr;
    NodeId caller = 0;
    for (const OpenCall* parent : candidates) {
      if (histogram == nullptr || parent->caller != caller) {
        caller = parent->caller;
        histogram = &to->Of(caller, node, child.callee);
      }
      histogram->Add(bins.Of(child.sent - parent->received), share);
    }
  }

  // What the children a parent has already take off its score. Kids that were over before this one left can overlap
  // no later one either, and leave the list (unless all are to be counted).
  double PenaltyOf(OpenCall& parent, const Departure& child) {
    uint32_t overlapping = 0, alike = 0;
    uint32_t* link = &parent.last_kid;
    while (*link != kNone) {
      Kid& kid = kids[*link];
      if (kid.returned <= child.sent && !same.on()) {
        *link = kid.before;
        continue;
      }
      if (kid.returned > child.sent && child.returned > kid.sent) ++overlapping;
      if (kid.callee == child.callee) ++alike;
      link = &kid.before;
    }
    double factor = overlap.At(overlapping);
    if (same.on()) factor *= same.At(alike);
    if (any.on()) factor *= any.At(parent.kids);
    return factor;
  }

  void Give(OpenCall& parent, const Departure& child) {
    ++parent.kids;
    kids.push_back({child.sent, child.returned, child.callee, parent.last_kid});
    parent.last_kid = static_cast<uint32_t>(kids.size() - 1);
  }

  void KeepOthers(uint32_t call, size_t best, double sum) {
    std::vector<Candidate> others;
    for (size_t i = 0; i < candidates.size(); ++i)
      if (i != best) others.push_back({candidates[i]->call, scores[i] / sum});
    std::stable_sort(others.begin(), others.end(),
                     [](const Candidate& a, const Candidate& b) { return a.p > b.p; });
    if (others.size() > options.candidates) others.resize(options.candidates);
    decisions->others[call] = std::move(others);
  }

  void DecideChild(const Departure& child) {
    Scoreboard* from = &board;
    if (candidates.empty()) {
      FindLateCandidates(child);
      // Where paths are known, that two calls belong together needs no evidence.
      if (options.rule == CandidateRule::kAny && !late_calls.Caused(node, child.callee))
        candidates.clear();
      counts.after_reply += !candidates.empty();
      from = &late_board;
    }
    uint32_t& parent = decisions->parent[child.call];
    parent = kNoParent;
    if (candidates.empty()) return;
    const bool smooth = options.Smoothing() > 0;
    scores.clear();
    double sum = 0, max_score = -1;
    size_t best = 0;
    const WeightedDelays* histogram = nullptr;
    NodeId caller = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      OpenCall& candidate = *candidates[i];
      if (histogram == nullptr || candidate.caller != caller) {
        caller = candidate.caller;
        histogram = &from->Of(caller, node, child.callee);
      }
      const int bin = bins.Of(child.sent - candidate.received);
      const double score =
          (smooth ? histogram->Smoothed(bin) : histogram->At(bin)) * PenaltyOf(candidate, child);
      scores.push_back(score);
      sum += score;
      if (score >
          max_score * kMoreThanRounding) {  // in order of time: a tie stays with the earliest
        max_score = score;
        best = i;
      }
    }
    parent = candidates[best]->call;
    decisions->p[child.call] = sum > 0 ? static_cast<float>(max_score / sum) : 1.0f;
    if (options.candidates > 0) KeepOthers(child.call, best, sum > 0 ? sum : 1);
    Give(*candidates[best], child);
  }

  // A child decided with an earlier span counts against its parent as before.
  void Recall(const Departure& child) {
    const uint32_t parent = decisions->parent[child.call];
    if (parent == kNoParent) return;
    for (OpenCall& candidate : open) {
      if (candidate.call != parent) continue;
      Give(candidate, child);
      return;
    }
  }

  void Sweep(NodeId at, Pass pass) {
    const auto arrived = arrivals.At(at);
    const auto left = departures.At(at);
    if (left.empty()) return;
    node = at;
    open.clear();
    answered.clear();
    kids.clear();
    size_t next = 0;
    for (const Departure& child : left) {
      const bool undecided = decisions->parent[child.call] == Decisions::kUndecided;
      if (!undecided && pass == Pass::kScore) continue;
      FindCandidates(arrived, next, child);
      if (pass == Pass::kScore)
        ScoreChild(child);
      else if (undecided)
        DecideChild(child);
      else
        Recall(child);
    }
    if (pass == Pass::kDecide) return;
    for (const Departure& child : left) {
      if (nested[child.callee] == 0) continue;
      late_calls.CountNested(at, child.callee, nested[child.callee]);
      nested[child.callee] = 0;
    }
  }

  // With a skew window, or with equal times, two calls may each be within the other.
  void CutCycles() {
    std::vector<uint32_t>& parent = decisions->parent;
    std::vector<uint32_t> walk(parent.size(), kNone);  // in which walk a call was met first
    for (uint32_t start = 0; start < parent.size(); ++start) {
      uint32_t at = start;
      while (at < kNoParent - 1 && walk[at] == kNone) {
        walk[at] = start;
        at = parent[at];
      }
      if (at >= kNoParent - 1 || walk[at] != start) continue;
      uint32_t earliest = at;
      for (uint32_t v = parent[at]; v != at; v = parent[v]) {
        const Call &a = calls[v], &b = calls[earliest];
        if (a.sent_ns != b.sent_ns ? a.sent_ns < b.sent_ns : a.place < b.place) earliest = v;
      }
      parent[earliest] = kNoParent;
      decisions->p[earliest] = 1 - decisions->p[earliest];
      ++counts.cycles;
    }
  }

  void Score(std::span<const Call> all, Nanos until, Decisions& to) {
    calls = all;
    decisions = &to;
    to.Resize(all.size());
    for (size_t i = 0; i < all.size(); ++i)
      if (!all[i].returned) to.parent[i] = kNoParent;
    Group(until);
    const NodeId nodes = static_cast<NodeId>(departures.nodes());
    for (NodeId n = 0; n < nodes; ++n) Sweep(n, Pass::kScore);
  }

  void Decide(std::span<const Call> all, Nanos until, Decisions& to) {
    Score(all, until, to);
    if (options.candidates > 0) to.others.resize(all.size());
    const NodeId nodes = static_cast<NodeId>(departures.nodes());
    if (options.Smoothing() > 0) {
      board.Smooth(options.Smoothing());
      late_board.Smooth(options.Smoothing());
    }
    for (NodeId n = 0; n < nodes; ++n) Sweep(n, Pass::kDecide);
    CutCycles();
  }
};

Nesting::Nesting(const NestingOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Nesting::~Nesting() = default;

void Nesting::Decide(std::span<const Call> calls, Nanos until, Decisions& decisions) {
  impl_->Decide(calls, until, decisions);
}

const NestingCounts& Nesting::counts() const { return impl_->counts; }

void Nesting::Score(std::span<const Call> calls) {
  Decisions none;
  impl_->Score(calls, INT64_MAX, none);
}

NestingCounts CountCandidates(std::span<const Call> calls, Nanos skew_window) {
  NestingOptions options;
  options.skew_window = skew_window;
  options.after_reply = 0;
  Nesting nesting(options);
  nesting.Score(calls);
  return nesting.counts();
}

std::vector<Assignment> NestCalls(std::span<const Call> calls, const NestingOptions& options,
                                  NestingCounts* counts) {
  Nesting nesting(options);
  Decisions decisions;
  nesting.Decide(calls, INT64_MAX, decisions);
  std::vector<Assignment> assignments(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    assignments[i].parent = decisions.parent[i];
    assignments[i].p = decisions.p[i];
    if (!decisions.others.empty()) assignments[i].others = std::move(decisions.others[i]);
  }
  if (counts != nullptr) *counts = nesting.counts();
  return assignments;
}

}  // namespace wf::paths
