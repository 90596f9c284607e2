// How likely each explanation of each parent is, given that no child has two parents: what all parents together make of
// one another's claims.
//
// By belief propagation: a parent tells each child how much it wants it, given what its other explanations would cost; a
// child tells each parent how much all others want it. After some rounds of this the beliefs are close to what
// enumerating all joint assignments would give, where that can be done at all.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_explanations.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

class Beliefs {
 public:
  // Belief propagation itself (kFull) is too sure where two parents may change children; kHalf weakens what a parent's own
  // wish does to a child's price so that this comes out right, and is slower to settle.
  enum class Sureness : uint8_t { kFull, kHalf };

  Beliefs(const NodeProblem& problem, const LinkModel& model, const Explanations& explanations,
          Sureness sureness);

  // Log likelihood of everything, over all assignments (Bethe's approximation). Unlike that of the best assignment it can
  // be compared between models.
  double Total() const { return total_; }
  // What parents did, drawn so many times each.
  LinkDraws Draw(size_t times, uint64_t seed) const;
  // Parents take what they most likely did, the surest first.
  LinkState Decide() const;
  // Probability of each parent that claims the child, and of none: the chosen one first, the others by falling p.
  std::vector<Candidate> Weigh(uint32_t child, uint32_t chosen) const;

 private:
  struct Claim {
    uint32_t child = 0, parent = 0;
    double wish = 0;   // log of the odds that the parent takes it, were it free
    double price = 0;  // log of what the others' wishes leave of it
    double share = 0;  // probability that the parent takes it
  };
  double Pass(double keep);  // the greatest change of a wish
  double BeliefWithout(uint32_t parent, uint32_t claim, size_t at, size_t kid_at) const;
  void Settle(uint32_t child);
  double ShareOf(double log_odds) const;
  double FindTotal() const;

  Sureness sureness_;
  const NodeProblem* problem_;
  const Explanations* explanations_;
  std::vector<Claim> claims_;                     // by parent
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
