// How likely each explanation of each parent is, given that no child has two parents.
//
// Computed by belief propagation: a parent sends each child how much it wants that child, given the cost of
// its other explanations; a child sends each parent how much all other parents want it. After some rounds the
// beliefs are close to those from enumerating all joint assignments, where enumeration is possible at all.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_explanations.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

class Beliefs {
 public:
  // Plain belief propagation (kFull) is overconfident where two parents may exchange children. kHalf weakens
  // the effect of a parent's own wish on a child's price, which corrects this, and converges more slowly.
  enum class Sureness : uint8_t { kFull, kHalf };

  Beliefs(const NodeProblem& problem, const LinkModel& model, const Explanations& explanations,
          Sureness sureness);

  // Log likelihood of everything, over all assignments (Bethe's approximation). Unlike that of the best assignment it can
  // be compared between models.
  double Total() const { return total_; }
  // What parents did, drawn `times` times each.
  LinkDraws Draw(size_t times, uint64_t seed) const;
  // Each parent takes what it most likely did, the surest parents first.
  LinkState Decide() const;
  // Probability of each parent that claims the child, and of none: the chosen one first, the others by falling p.
  std::vector<Candidate> Weigh(uint32_t child, uint32_t chosen) const;

 private:
  struct Claim {
    uint32_t child = 0, parent = 0;
    double wish = 0;   // log of the odds that the parent takes it, were it free
    double price = 0;  // log of what remains after the others' wishes
    double share = 0;  // probability that the parent takes it
  };
  double Pass(double keep);  // returns the greatest change of a wish
  double BeliefWithout(uint32_t parent, uint32_t claim, size_t at, size_t kid_at) const;
  void Settle(uint32_t child);
  double ShareOf(double log_odds) const;
  double FindTotal() const;

  Sureness sureness_;
  const NodeProblem* problem_;
  const Explanations* explanations_;
  std::vector<Claim> claims_;                     // sorted by parent
  std::vector<size_t> claims_end_;                // per parent
  std::vector<uint32_t> claim_of_;                // per kid of each explanation
  std::vector<std::vector<uint32_t>> wanted_by_;  // claims per child
  std::vector<double> orphan_;  // per child: log of the odds of no parent, as wishes are
  std::vector<double> cost_;    // per child: log
  std::vector<double> belief_;  // per explanation
  std::vector<double> free_;    // log of the sum per parent
  double base_ = 0;
  double total_ = 0;
};

}  // namespace wf::paths
