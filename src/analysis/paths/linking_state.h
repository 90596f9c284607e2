// Who is whose child, while linking is at work; and two ways to begin.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"

namespace wf {

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

// Each child goes to the parent that has waited longest, of those that have the fewest calls to that callee.
LinkState FirstComeFirstServed(const NodeProblem& problem);

// Every pair of a child and a parent in question votes for two delays, from the parent's arrival to the call and from
// the call's return to the parent's reply; votes for what many pairs agree on count more in the next round. Nothing is
// known of order, fan-out or of how many calls there should be, so this errs where it is crowded, but not in the same
// way everywhere, as a fixed rule does.
class Votes {
 public:
  explicit Votes(const NodeProblem& problem);
  LinkState Begin(const NodeProblem& problem) const;
  // Takes from each child the candidates that hardly any vote is for.
  void Prune(NodeProblem& problem) const;

 private:
  struct Pair;
  static Pair PairOf(const NodeProblem& problem, uint32_t child, uint32_t parent);
  double Weight(const Pair& pair) const;

  // Per combination of a parent's and a child's kind.
  std::vector<DelayDensity> before_, after_;
  std::vector<double> share_;
};

}  // namespace wf
