#include "analysis/paths/linking_learning.h"

#include "analysis/paths/linking_solver.h"

namespace wf {
namespace {

// Turns until two ways to begin are compared, and then with the better one.
constexpr int kTrialTurns = 4;
constexpr int kFurtherTurns = 6;
constexpr int kApartTurns = 6;
// Where much overlaps, learning is slow: it goes on as long as everything gets likelier by this (log).
constexpr int kMostBlocks = 5;
constexpr double kLeastGainPerBlock = 10;

// Parents that stand apart are worth kinds of their own if that makes everything likelier by more than this per kind:
// about what the extra freedom explains by chance.
constexpr double kLeastGainPerKind = 20;
constexpr size_t kLeastApart = 10;

constexpr uint64_t kSeed = 1;  // the same draws in every run

// The model is learnt from a drawn assignment, not from the best one: that looks tidier than the true one, and a model
// of it would be too sure of itself.
Learnt Turns(const NodeProblem& problem, int turns, LinkState state) {
  for (int turn = 0; turn < turns; ++turn) {
    const LinkModel model(problem, state);
    LinkSolver(problem, model, state, kSeed + static_cast<uint64_t>(turn)).Shake();
  }
  Learnt learnt;
  learnt.state = std::move(state);
  learnt.model = std::make_unique<LinkModel>(problem, learnt.state);
  LinkSolver solver(problem, *learnt.model, learnt.state, kSeed);
  solver.Improve();
  learnt.total = solver.Total();
  return learnt;
}

}  // namespace

size_t TellApart(NodeProblem& problem, uint8_t standing) {
  size_t apart = 0;
  for (LinkParent& parent : problem.parents) {
    if ((parent.standing & standing) == 0) continue;
    parent.kind += problem.parent_kinds;
    ++apart;
  }
  problem.parent_kinds *= 2;
  return apart;
}

Learnt LearnNode(NodeProblem& problem, const Votes& votes) {
  Learnt best = Turns(problem, kTrialTurns, FirstComeFirstServed(problem));
  Learnt other = Turns(problem, kTrialTurns, votes.Begin(problem));
  if (other.total > best.total) best = std::move(other);
  for (int block = 0; block < kMostBlocks; ++block) {
    Learnt further = Turns(problem, kFurtherTurns, best.state);
    const bool better = further.total > best.total + kLeastGainPerBlock;
    if (further.total > best.total || block == 0) best = std::move(further);
    if (!better) break;
  }
  if (problem.siblings.empty()) return best;

  // Told apart, parents begin afresh: an assignment that did without would stick.
  const double least = best.total + kLeastGainPerKind * problem.parent_kinds;
  for (uint8_t standing : {kLastToReply, kLastToArrive, kFirstToArrive, kFirstToReply}) {
    NodeProblem apart = problem;
    if (TellApart(apart, standing) < kLeastApart) continue;
    Learnt learnt = Turns(apart, kApartTurns, FirstComeFirstServed(apart));
    if (learnt.total <= best.total || learnt.total < least) continue;
    best = std::move(learnt);
    best.apart_by = standing;
  }
  if (best.apart_by != 0) TellApart(problem, best.apart_by);
  return best;
}

}  // namespace wf
