// Which child belongs to which parent, while linking runs; and two ways to begin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"

namespace wf::paths {

struct LinkState {
  std::vector<uint32_t> parent_of;          // per child; kNoParent: none
  std::vector<std::vector<uint32_t>> kids;  // per parent: indices of children, rising, so by time

  LinkState() = default;
  explicit LinkState(const NodeProblem& problem)
      : parent_of(problem.children.size(), kNoParent), kids(problem.parents.size()) {}
  void Append(uint32_t parent, uint32_t child) {
    parent_of[child] = parent;
    kids[parent].push_back(child);
  }
};

// Possible behaviours of parents, to learn from. A parent may occur several times, drawn anew each time.
class LinkDraws {
 public:
  LinkDraws() = default;
  LinkDraws(const NodeProblem& problem, const LinkState& state);

  void Add(uint32_t parent, std::span<const uint32_t> kids);
  size_t size() const { return parents_.size(); }
  uint32_t ParentOf(size_t draw) const { return parents_[draw]; }
  std::span<const uint32_t> KidsOf(size_t draw) const {
    return {kids_.data() + ends_[draw], ends_[draw + 1] - ends_[draw]};
  }

  std::vector<double> orphans;      // per child kind: expected number without a parent
  std::vector<uint32_t> parent_of;  // per child, in one of the draws

 private:
  std::vector<uint32_t> parents_, kids_;
  std::vector<size_t> ends_{0};
};

// Each child goes to the parent that has waited longest, of those that have the fewest calls to that callee.
LinkState FirstComeFirstServed(const NodeProblem& problem);

// Every possible pair of a child and a parent votes for two delays: from the parent's arrival to the call,
// and from the call's return to the parent's reply. Votes for delays that many pairs agree on count more in
// the next round. Order, fan-out and the number of calls are unknown here, so this errs where it is crowded,
// but not in the same way everywhere, as a fixed rule does.
class Votes {
 public:
  explicit Votes(const NodeProblem& problem);
  LinkState Begin(const NodeProblem& problem) const;
  // Removes from each child the candidates with hardly any votes, and all but the `most` with the highest
  // votes. Where all assignments are weighed together, many candidates do no harm: with 42 candidates per
  // call, keeping 16 drops the true one of up to 17% of the calls. Where one assignment is changed step by
  // step, the true one gets lost among many.
  static constexpr size_t kMostWeighed = 64, kMostTried = 16;
  void Prune(NodeProblem& problem, size_t most) const;

 private:
  struct Pair;
  static Pair PairOf(const NodeProblem& problem, uint32_t child, uint32_t parent);
  double Weight(const Pair& pair) const;

  // Per combination of a parent's and a child's kind.
  std::vector<DelayDensity> before_, after_;
  std::vector<double> share_;
};

}  // namespace wf::paths
