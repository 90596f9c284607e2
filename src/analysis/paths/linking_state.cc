#include "analysis/paths/linking_state.h"

#include <algorithm>
#include <functional>

namespace wf::paths {

LinkDraws::LinkDraws(const NodeProblem& problem, const LinkState& state)
    : orphans(problem.child_kinds, 0), parent_of(state.parent_of) {
  for (uint32_t i = 0; i < state.kids.size(); ++i) Add(i, state.kids[i]);
  for (uint32_t i = 0; i < parent_of.size(); ++i) {
    if (parent_of[i] == kNoParent) orphans[problem.children[i].kind] += 1;
  }
}

void LinkDraws::Add(uint32_t parent, std::span<const uint32_t> kids) {
  parents_.push_back(parent);
  kids_.insert(kids_.end(), kids.begin(), kids.end());
  ends_.push_back(kids_.size());
}

LinkState FirstComeFirstServed(const NodeProblem& problem) {
  LinkState state(problem);
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    const LinkChild& c = problem.children[child];
    uint32_t best = kNoParent;
    std::ptrdiff_t best_same = 0;
    bool best_within = false;
    for (uint32_t parent : problem.CandidatesOf(child)) {
      const LinkParent& p = problem.parents[parent];
      const bool within = !c.returned || !p.returned || c.ended <= p.replied + problem.slack;
      const auto& kids = state.kids[parent];
      const auto same = std::count_if(
          kids.end() - static_cast<std::ptrdiff_t>(std::min<size_t>(kids.size(), 64)), kids.end(),
          [&](uint32_t kid) { return problem.children[kid].kind == c.kind; });
      if (best == kNoParent || within > best_within ||
          (within == best_within && same < best_same)) {
        best = parent;
        best_same = same;
        best_within = within;
      }
    }
    if (best != kNoParent) state.Append(best, child);
  }
  return state;
}

namespace {

constexpr int kLearningRounds = 6;
constexpr size_t kMostPairs = 60'000;  // to learn from
// Used instead of the second density, per ns: if there is no reply, and if a call ends after it.
constexpr double kNoReply = 1e-9;
constexpr double kOutlives = 1e-11;
// Candidates with less than this share of the best one's weight are ruled out: votes are broad, so that even
// a late call in a long chain keeps far more.
constexpr double kLeastShare = 1e-6;

}  // namespace

struct Votes::Pair {
  uint32_t child = 0, parent = 0;
  uint32_t combination = 0;
  double before = 0, after = 0;  // delays
  bool has_after = false;        // both returned
  bool within = true;            // the child before its parent
  double weight = 0;
};

Votes::Pair Votes::PairOf(const NodeProblem& problem, uint32_t child, uint32_t parent) {
  const LinkChild& c = problem.children[child];
  const LinkParent& p = problem.parents[parent];
  Pair pair;
  pair.child = child;
  pair.parent = parent;
  pair.combination = p.kind * problem.child_kinds + c.kind;
  pair.before = static_cast<double>(c.sent - p.opened);
  pair.after = static_cast<double>(p.replied - c.ended);
  pair.has_after = p.returned && c.returned;
  pair.within = c.ended <= p.replied + problem.slack;
  return pair;
}

double Votes::Weight(const Pair& pair) const {
  const size_t k = pair.combination;
  double after = kNoReply;
  if (pair.has_after) after = pair.within ? after_[k].At(pair.after) : kOutlives;
  return share_[k] * before_[k].At(pair.before) * after;
}

Votes::Votes(const NodeProblem& problem) {
  std::vector<Pair> pairs;
  for (uint32_t child = 0; child < problem.children.size() && pairs.size() < kMostPairs; ++child) {
    for (uint32_t parent : problem.CandidatesOf(child)) {
      const Pair pair = PairOf(problem, child, parent);
      if (pair.within || !pair.has_after) pairs.push_back(pair);
    }
  }
  const auto each_child = [&](auto&& act) {
    for (size_t i = 0, j = 0; i < pairs.size(); i = j) {
      while (j < pairs.size() && pairs[j].child == pairs[i].child) ++j;
      act(i, j);
    }
  };
  each_child([&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) pairs[i].weight = 1.0 / static_cast<double>(to - from);
  });
  const size_t combinations = static_cast<size_t>(problem.parent_kinds) * problem.child_kinds;
  before_.resize(combinations);
  after_.resize(combinations);
  share_.assign(combinations, 1e-3);
  std::vector<std::vector<uint32_t>> by_before(combinations), by_after(combinations);
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    by_before[pairs[i].combination].push_back(i);
    if (pairs[i].has_after) by_after[pairs[i].combination].push_back(i);
  }
  for (size_t k = 0; k < combinations; ++k) {
    std::stable_sort(by_before[k].begin(), by_before[k].end(),
                     [&](uint32_t a, uint32_t b) { return pairs[a].before < pairs[b].before; });
    std::stable_sort(by_after[k].begin(), by_after[k].end(),
                     [&](uint32_t a, uint32_t b) { return pairs[a].after < pairs[b].after; });
  }
  std::vector<WeightedDelay> samples;
  for (int round = 0; round < kLearningRounds; ++round) {
    for (size_t k = 0; k < combinations; ++k) {
      samples.clear();
      share_[k] = 1e-3;
      for (uint32_t i : by_before[k]) {
        samples.push_back({pairs[i].before, pairs[i].weight});
        share_[k] += pairs[i].weight;
      }
      before_[k] = DelayDensity(samples, DelayDensity::Fit::kBins);
      samples.clear();
      for (uint32_t i : by_after[k]) samples.push_back({pairs[i].after, pairs[i].weight});
      after_[k] = DelayDensity(samples, DelayDensity::Fit::kBins);
    }
    if (round + 1 == kLearningRounds) break;
    each_child([&](size_t from, size_t to) {
      double sum = 0;
      for (size_t i = from; i < to; ++i) sum += pairs[i].weight = Weight(pairs[i]);
      for (size_t i = from; i < to; ++i) pairs[i].weight = sum > 0 ? pairs[i].weight / sum : 0;
    });
  }
}

LinkState Votes::Begin(const NodeProblem& problem) const {
  LinkState state(problem);
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    uint32_t best = kNoParent;
    double most = 0;
    for (uint32_t parent : problem.CandidatesOf(child)) {
      const double weight = Weight(PairOf(problem, child, parent));
      if (weight > most) {
        most = weight;
        best = parent;
      }
    }
    if (best != kNoParent) state.Append(best, child);
  }
  return state;
}

void Votes::Prune(NodeProblem& problem, size_t most) const {
  std::vector<double> weights;
  std::vector<double> sorted;
  size_t kept = 0;
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    LinkChild& c = problem.children[child];
    const auto candidates = problem.CandidatesOf(child);
    weights.clear();
    for (uint32_t parent : candidates) weights.push_back(Weight(PairOf(problem, child, parent)));
    double least = 0;
    if (!weights.empty()) {
      sorted = weights;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      least = sorted[0] * kLeastShare;
      if (sorted.size() > most) least = std::max(least, sorted[most - 1]);
    }
    const size_t first = kept;
    for (size_t i = 0; i < weights.size(); ++i) {
      // Entries that are kept are never written beyond those still to be read.
      if (weights[i] >= least) problem.candidates[kept++] = candidates[i];
    }
    c.first_candidate = first;
    c.candidate_count = static_cast<uint32_t>(kept - first);
  }
  problem.candidates.resize(kept);
}

}  // namespace wf::paths
