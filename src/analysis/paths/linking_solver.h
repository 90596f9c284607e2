// A better assignment under a model, by moves: a child goes to another parent, two children swap parents, two
// parents swap everything from some call on, or two parents that fit badly redistribute all their children.
//
// Improve takes only moves that raise the likelihood; Shake draws moves by their likelihood. Learning needs
// Shake: a model learnt from the best assignment alone is overconfident, because the best assignment always
// looks tidier than the true one.
//
// Thread safety: none. The solver borrows the problem, the model and the state for its life.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

class LinkSolver {
 public:
  LinkSolver(const NodeProblem& problem, const LinkModel& model, LinkState& state, uint64_t seed);

  void Improve();
  void Shake();
  double Total() const;  // log likelihood

  // Probability of each candidate, given the parents of all other children: the chosen one first, the others
  // by falling p.
  std::vector<Candidate> Weigh(uint32_t child);

 private:
  using Kids = std::vector<uint32_t>;
  enum class MoveKind : uint8_t { kStay, kRelocate, kSwap, kTails };
  struct Move {
    MoveKind kind = MoveKind::kStay;
    uint32_t to = kNoParent;
    uint32_t with = 0;  // the child of `to` that is swapped, or the first child of the swapped tail
    double gain = 0;
  };

  Move Best(uint32_t child, uint32_t to);  // the best way to bring the child to `to`
  void Apply(uint32_t child, const Move& move);
  bool DealTails(uint32_t child, uint32_t to, uint32_t with);
  size_t ImproveChildren();
  size_t ImprovePairs();
  size_t Split(uint32_t i, uint32_t j, const Kids& others);

  bool IsMany(uint32_t parent) const;
  void Near(uint32_t parent, uint32_t child, Kids& near) const;
  double Score(uint32_t parent, const Kids& kids) const {
    return model_->Score(*problem_, parent, kids);
  }
  double Orphan(uint32_t child) const { return model_->OrphanScore(*problem_, child); }
  void Set(uint32_t parent, const Kids& kids, uint32_t around);

  const NodeProblem* problem_;
  const LinkModel* model_;
  LinkState* state_;
  uint64_t random_;
  std::vector<double> score_;   // per parent; not kept for parents with many children
  std::vector<uint8_t> dirty_;  // per child: something near it changed
  Kids from_near_, to_near_, from_, to_, pool_, mine_, theirs_;  // scratch
};

}  // namespace wf::paths
