// The best assignment under a model, found by moves that never make it worse: a child goes to another parent, two
// children of a kind change places, two parents change everything from some call on.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"

namespace wf {

class LinkSolver {
 public:
  LinkSolver(const NodeProblem& problem, const LinkModel& model, LinkState& state);

  // Sweeps over the children until nothing moves, at most so often. Returns the total log likelihood.
  double Improve(int most_sweeps);
  // Random moves, the likelier the better they are.
  void Shake(double temperature, int sweeps);
  double total() const;

  // Probability of each candidate given where all others stand, best first; the chosen one included.
  std::vector<Candidate> Weigh(uint32_t child);

 private:
  struct Move {
    enum Kind : uint8_t { kStay, kRelocate, kSwap, kTails } kind = kStay;
    uint32_t to = kNoParent;    // parent
    uint32_t with = 0;          // child that changes places
    double gain = 0;
  };
  void ImproveChildren(int most_sweeps);
  size_t ImprovePairs();
  size_t Split(uint32_t i, uint32_t j, const std::vector<uint32_t>& others);
  // The best way to bring the child to `to`.
  Move Best(uint32_t child, uint32_t to);
  void Apply(uint32_t child, const Move& move);
  double ScoreWithout(uint32_t parent, uint32_t child);
  bool MakeTails(uint32_t child, uint32_t to, uint32_t with);
  double ScoreOf(uint32_t parent, const std::vector<uint32_t>& kids) const { return model_->Score(parent, kids); }
  void Set(uint32_t parent, const std::vector<uint32_t>& kids);
  void Touch(uint32_t parent);

  const NodeProblem* problem_;
  const LinkModel* model_;
  LinkState* state_;
  std::vector<double> score_;   // per parent
  std::vector<uint8_t> dirty_;  // per child
  uint64_t random_ = 1;
  std::vector<uint32_t> from_, to_, pool_, mine_, theirs_;  // scratch
};

// Ways to begin.
LinkState FirstComeFirstServed(const NodeProblem& problem);
LinkState LatestFirst(const NodeProblem& problem);
LinkState ByVotes(const NodeProblem& problem);

}  // namespace wf
