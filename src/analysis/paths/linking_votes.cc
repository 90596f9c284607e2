// A way to begin linking: every pair of a child and a parent that comes into question votes for two delays, from the
// parent's arrival to the call and from the call's return to the parent's answer; votes for what many pairs agree on
// count more in the next round. Nothing is known yet of order, fan-out or of how many calls there should be, so this
// errs on every crowded second, but not the same way everywhere, as a fixed rule would.
#include <algorithm>
#include <cmath>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_solver.h"

namespace wf {
namespace {

constexpr int kRounds = 6;

struct Pair {
  uint32_t child = 0, parent = 0;
  double before = 0, after = 0;  // delays
  bool has_after = false;
  double weight = 0;
};

}  // namespace

LinkState ByVotes(const NodeProblem& problem) {
  std::vector<Pair> pairs;
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    const LinkChild& c = problem.children[child];
    const auto candidates = problem.CandidatesOf(child);
    for (uint32_t parent : candidates) {
      const LinkParent& p = problem.parents[parent];
      Pair pair{child, parent, static_cast<double>(c.sent - p.opened), 0, false, 0};
      pair.has_after = p.returned && c.returned;
      if (pair.has_after) pair.after = static_cast<double>(p.replied - c.ended);
      if (pair.has_after && pair.after < -static_cast<double>(problem.slack)) continue;
      pairs.push_back(pair);
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
  // Pairs of each combination of kinds, by either delay.
  const size_t combinations = static_cast<size_t>(problem.parent_kinds) * problem.child_kinds;
  std::vector<std::vector<uint32_t>> by_before(combinations), by_after(combinations);
  const auto combination = [&](const Pair& pair) {
    return problem.parents[pair.parent].kind * problem.child_kinds + problem.children[pair.child].kind;
  };
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    by_before[combination(pairs[i])].push_back(i);
    if (pairs[i].has_after) by_after[combination(pairs[i])].push_back(i);
  }
  for (size_t k = 0; k < combinations; ++k) {
    std::sort(by_before[k].begin(), by_before[k].end(), [&](uint32_t a, uint32_t b) {
      return pairs[a].before != pairs[b].before ? pairs[a].before < pairs[b].before : a < b;
    });
    std::sort(by_after[k].begin(), by_after[k].end(), [&](uint32_t a, uint32_t b) {
      return pairs[a].after != pairs[b].after ? pairs[a].after < pairs[b].after : a < b;
    });
  }
  std::vector<WeightedDelay> samples;
  std::vector<DelayDensity> before(combinations), after(combinations);
  std::vector<double> share(combinations);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t k = 0; k < combinations; ++k) {
      samples.clear();
      share[k] = 1e-3;
      for (uint32_t i : by_before[k]) {
        samples.push_back({pairs[i].before, pairs[i].weight});
        share[k] += pairs[i].weight;
      }
      before[k] = DelayDensity(samples);
      samples.clear();
      for (uint32_t i : by_after[k]) samples.push_back({pairs[i].after, pairs[i].weight});
      after[k] = DelayDensity(samples);
    }
    each_child([&](size_t from, size_t to) {
      double sum = 0;
      for (size_t i = from; i < to; ++i) {
        Pair& pair = pairs[i];
        const size_t k = combination(pair);
        pair.weight = share[k] * before[k].At(pair.before);
        if (pair.has_after) pair.weight *= after[k].At(pair.after);
        sum += pair.weight;
      }
      for (size_t i = from; i < to; ++i) pairs[i].weight = sum > 0 ? pairs[i].weight / sum : 0;
    });
  }
  LinkState state;
  state.parent_of.assign(problem.children.size(), kNoParent);
  state.kids.resize(problem.parents.size());
  each_child([&](size_t from, size_t to) {
    size_t best = from;
    for (size_t i = from; i < to; ++i) {
      if (pairs[i].weight > pairs[best].weight) best = i;
    }
    state.parent_of[pairs[best].child] = pairs[best].parent;
    state.kids[pairs[best].parent].push_back(pairs[best].child);
  });
  return state;
}

}  // namespace wf
