#include "analysis/paths/linking_learning.h"

#include <algorithm>
#include <cmath>

#include "analysis/paths/linking_beliefs.h"
#include "analysis/paths/linking_solver.h"

namespace wf::paths {
namespace {

// Turns until two ways to begin are compared, and then with the better one.
constexpr int kTrialTurns = 4;
constexpr int kFurtherTurns = 6;
constexpr int kApartTurns = 6;
// Where much overlaps, learning is slow: it continues while the total likelihood rises by this (log).
constexpr int kMostBlocks = 5;
constexpr double kLeastGainPerBlock = 10;

// Splitting a kind by standing is worthwhile if the likelihood rises by more than this per kind: about what
// the extra freedom explains by chance.
constexpr double kLeastGainPerKind = 20;
constexpr size_t kLeastApart = 10;

constexpr uint64_t kLearningSeed = 1;  // the same draws in every run

// The model is learnt from a drawn assignment, not from the best one: that looks tidier than the true one, and a model
// of it would be too sure of itself.
Learnt Turns(const NodeProblem& problem, int turns, LinkState state) {
  for (int turn = 0; turn < turns; ++turn) {
    const LinkModel model(problem, state);
    LinkSolver(problem, model, state, kLearningSeed + static_cast<uint64_t>(turn)).Shake();
  }
  Learnt learnt;
  learnt.state = std::move(state);
  learnt.model = std::make_unique<LinkModel>(problem, learnt.state);
  LinkSolver solver(problem, *learnt.model, learnt.state, kLearningSeed);
  solver.Improve();
  learnt.total = solver.Total();
  return learnt;
}

// With more calls than this per parent there are too many ways to weigh them all.
constexpr double kMostKidsPerParent = 6;

// The first model is rough, and a part of the problem is enough for it.
constexpr size_t kRoughChildren = 1600;
constexpr size_t kRoughStretches = 2;
constexpr int kTrialRounds = 12, kRoughRounds = 30, kFineRounds = 6;
constexpr int kSettledRounds = 5;
constexpr size_t kRisingRounds = 4;
// Candidates per call, on the mean: from where on it pays to begin from kernels.
constexpr double kKernelsFrom = 4;
constexpr size_t kGrownKids = 2;
constexpr int kGrowRounds = 8;
constexpr double kLeftOver = -2;  // log of the share of each kind that may have no parent meanwhile
constexpr size_t kLeastDraws = 2000, kMostDrawsPerParent = 6;

// While learning, a child has a parent if it can have one: a model in which half the children come at random is nearly as
// likely as the true one. When all is learnt, this share (log) of each kind may have none.
constexpr double kLeastOrphans = -9;

bool CanBeExplained(const NodeProblem& problem) {
  if (!problem.siblings.empty()) return false;
  if (static_cast<double>(problem.children.size()) >
      kMostKidsPerParent * static_cast<double>(problem.parents.size())) {
    return false;
  }
  const LinkState state = FirstComeFirstServed(problem);
  return std::all_of(state.kids.begin(), state.kids.end(),
                     [](const auto& kids) { return kids.size() < Explanations::kMostKids; });
}

// By turns: how likely each explanation of each parent is, and from explanations drawn by that what parents do. Unlike a
// joint assignment that is changed step by step, this forgets how it began.
struct Believed {
  std::unique_ptr<LinkModel> model;
  double total = 0;
  double rising = 0;  // by how much the last rounds raised it

  // By how much the model's gain exceeds its description length.
  double Worth() const { return total - model->Cost(); }
  // What that is on the way to. A wrong model that allows for much is soon as likely as it gets, and then likelier than one
  // that is still on its way to the truth.
  double Promise() const { return Worth() + rising; }
};

// So many of each parent.
size_t DrawsOf(const NodeProblem& problem) {
  return std::clamp<size_t>(kLeastDraws / std::max<size_t>(1, problem.parents.size()), 1,
                            kMostDrawsPerParent);
}

Believed Believe(const NodeProblem& problem, std::unique_ptr<LinkModel> model,
                 LinkModel::Repeats repeats, Beliefs::Sureness sureness, int rounds,
                 uint64_t seed) {
  Believed believed;
  std::vector<double> totals;
  double best = -1e300;
  int since = 0;
  for (int round = 0; round < rounds && since < kSettledRounds; ++round) {
    const Explanations explanations(problem, *model);
    const Beliefs beliefs(problem, *model, explanations, sureness);
    believed.total = beliefs.Total();
    totals.push_back(believed.total);
    // Draws differ by chance; a change no larger than that is not progress.
    const double progress = 0.3 + 0.002 * static_cast<double>(problem.parents.size());
    since = believed.total > best + progress ? 0 : since + 1;
    best = std::max(best, believed.total);
    model = std::make_unique<LinkModel>(
        problem, beliefs.Draw(DrawsOf(problem), seed + static_cast<uint64_t>(round)), repeats,
        LinkModel::Positions::kApart);
  }
  if (totals.size() > kRisingRounds) {
    believed.rising = std::max(0.0, believed.total - totals[totals.size() - 1 - kRisingRounds]);
  }
  believed.model = std::move(model);
  return believed;
}

// Starts with the simplest explanations: first those of one call each, then of two. Where a call has very
// many possible parents, everything a parent may have done is too much to begin with, but a single call may
// show its first call and its reply. Calls left over meanwhile have no parent.
std::unique_ptr<LinkModel> Grow(const NodeProblem& problem, const Kernels& kernels,
                                LinkModel::Repeats repeats) {
  LinkState first(problem);
  const LinkState served = FirstComeFirstServed(problem);
  for (uint32_t parent = 0; parent < served.kids.size(); ++parent) {
    if (!served.kids[parent].empty()) first.Append(parent, served.kids[parent][0]);
  }
  auto model = std::make_unique<LinkModel>(problem, first, kernels);
  for (size_t most = 1; most <= kGrownKids; ++most) {
    for (int round = 1; round <= kGrowRounds; ++round) {
      model->AllowOrphans(kLeftOver);
      const Explanations explanations(problem, *model, most);
      const Beliefs beliefs(problem, *model, explanations, Beliefs::Sureness::kFull);
      const auto openness = round == kGrowRounds ? LinkModel::Openness::kToTimesAndSets
                                                 : LinkModel::Openness::kToTimes;
      model = std::make_unique<LinkModel>(
          problem, beliefs.Draw(DrawsOf(problem), kLearningSeed + static_cast<uint64_t>(round)),
          repeats, LinkModel::Positions::kApart, openness);
    }
  }
  return model;
}

// From all beginnings, with calls to one callee in order or side by side, to what explains most.
Believed BelieveRough(const NodeProblem& rough, const Votes& votes, LinkModel::Repeats& repeats) {
  using Repeats = LinkModel::Repeats;
  Believed best;
  const auto attempt = [&](std::unique_ptr<LinkModel> model, Repeats trial) {
    Believed other = Believe(rough, std::move(model), trial, Beliefs::Sureness::kFull, kTrialRounds,
                             kLearningSeed);
    if (best.model != nullptr && other.Promise() <= best.Promise()) return;
    best = std::move(other);
    repeats = trial;
  };
  const bool crowded = IsCrowded(rough);
  std::vector<LinkState> beginnings{FirstComeFirstServed(rough)};
  if (!crowded) beginnings.push_back(votes.Begin(rough));
  for (const LinkState& state : beginnings) {
    for (const Repeats trial : {Repeats::kInOrder, Repeats::kMayBeSideBySide}) {
      auto model = std::make_unique<LinkModel>(rough, state, trial, LinkModel::Positions::kApart);
      if (trial == Repeats::kMayBeSideBySide && !model->AnySideBySide()) continue;
      attempt(std::move(model), trial);
    }
  }
  if (MeanCandidates(rough) > kKernelsFrom && MostReply(rough)) {
    const Kernels kernels(rough);
    attempt(std::make_unique<LinkModel>(rough, beginnings.front(), kernels), Repeats::kInOrder);
    attempt(Grow(rough, kernels, Repeats::kInOrder), Repeats::kInOrder);
  }
  return Believe(rough, std::move(best.model), repeats, Beliefs::Sureness::kFull, kRoughRounds,
                 kLearningSeed + kTrialRounds);
}

NodeProblem OfOneKind(NodeProblem problem) {
  for (LinkParent& parent : problem.parents) parent.kind = 0;
  problem.parent_kinds = 1;
  return problem;
}

Learnt LearnByBeliefs(const NodeProblem& problem, const Votes& votes) {
  const bool whole = problem.children.size() <= 2 * kRoughChildren;
  const NodeProblem rough = whole ? problem : SampleOf(problem, kRoughChildren, kRoughStretches);
  auto repeats = LinkModel::Repeats::kInOrder;
  // Parents with different callers are assumed to behave alike until more is known: rare behaviour is learnt
  // from all of them together, and might be lost among the few of each kind.
  const bool alike = problem.parent_kinds > 1;
  Believed best = BelieveRough(alike ? OfOneKind(rough) : rough, votes, repeats);
  bool together = alike;
  if (alike) {
    auto model = std::make_unique<LinkModel>(*best.model);
    model->ForAllKinds(problem.parent_kinds);
    Believed apart = Believe(rough, std::move(model), repeats, Beliefs::Sureness::kFull,
                             kTrialRounds, kLearningSeed);
    if (apart.Worth() > best.Worth()) {
      best = std::move(apart);
      together = false;
    }
  }
  // Surer beliefs find the way from a bad beginning; delays spread as they should only under the others.
  best = Believe(together ? OfOneKind(problem) : problem, std::move(best.model), repeats,
                 Beliefs::Sureness::kHalf, kFineRounds, kLearningSeed);
  if (together) best.model->ForAllKinds(problem.parent_kinds);
  Learnt learnt;
  learnt.model = std::move(best.model);
  learnt.model->AllowOrphans(kLeastOrphans);
  learnt.total = best.total;
  learnt.by_beliefs = true;
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
  if (CanBeExplained(problem)) return LearnByBeliefs(problem, votes);
  votes.Prune(problem, Votes::kMostTried);
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

}  // namespace wf::paths
