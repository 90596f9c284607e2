// What parents of a kind do, learnt from an assignment: how likely is it that this parent made exactly these calls, at
// these times, and replied when it did?
//
// Three parts. Which calls: the multiset of callees, by how often it was seen (linking_patterns.h). When: each call, and
// the reply, comes some time after an event of the same parent (its arrival, the return of an earlier call, the sending
// of one) or of another call of the same request at this node; which event sets it off is learnt as a mixture, each
// component with its own delays (linking_triggers.h). On which thread and connection, where that is told
// (linking_evidence.h).
//
// Thread safety: a learnt model may be read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/linking_evidence.h"
#include "analysis/paths/linking_kernels.h"
#include "analysis/paths/linking_patterns.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_state.h"
#include "analysis/paths/linking_triggers.h"

namespace wf::paths {

class LinkModel {
 public:
  // Whether several calls to one callee may be made side by side, each without regard to the others, or are told by which
  // is the first, the second and so on. Where much overlaps the first is soon believed of calls that are made one after
  // another, so that both have to be tried.
  enum class Repeats : uint8_t { kInOrder, kMayBeSideBySide };

  // Where all ways are weighed, positions are told apart, or what is rare is lost. Where one assignment is changed step by
  // step they are not: what it has wrong would sooner be believed (real traces: 79.6% right instead of 82.6%).
  using Positions = TriggerMixture::Positions;

  // What a model says of what was never seen. Usually little is expected of it. A model that is still growing has not been
  // let see all: calls behind the first may come at any time, and when it is let see more, any set of calls is as likely.
  enum class Openness : uint8_t { kUsual, kToTimes, kToTimesAndSets };

  // The problem may be a sample of the one that is scored: kinds have the same numbers in both.
  LinkModel(const NodeProblem& problem, const LinkDraws& draws, Repeats repeats = Repeats::kInOrder,
            Positions positions = Positions::kAlike, Openness openness = Openness::kUsual);
  LinkModel(const NodeProblem& problem, const LinkState& state, Repeats repeats = Repeats::kInOrder,
            Positions positions = Positions::kAlike)
      : LinkModel(problem, LinkDraws(problem, state), repeats, positions) {}

  // What is known before it is known who did what. Which calls are made together is taken from `state`, loosely.
  LinkModel(const NodeProblem& problem, const LinkState& state, const Kernels& kernels);

  // Log likelihood of everything a parent did, given these children (rising).
  double Score(const NodeProblem& problem, uint32_t parent, std::span<const uint32_t> kids) const;
  // The same in parts, to build up from the earliest child on: what the last of `kids` adds to those before, and what is
  // added when there are no more.
  double LastScore(const NodeProblem& problem, uint32_t parent,
                   std::span<const uint32_t> kids) const;
  // When a call to `kind` may be sent for LastScore to be at least this if it is made after all of `kids`: adds to `spans`
  // times outside of which it is less.
  void WhenLast(const NodeProblem& problem, uint32_t parent, std::span<const uint32_t> kids,
                uint32_t kind, double least, std::vector<TriggerMixture::Span>& spans) const;
  double WholeScore(const NodeProblem& problem, uint32_t parent,
                    std::span<const uint32_t> kids) const {
    return PatternScore(problem, parent, kids) + ReplyScore(problem, parent, kids);
  }
  double PatternScore(const NodeProblem& problem, uint32_t parent,
                      std::span<const uint32_t> kids) const {
    return behaviours_[problem.parents[parent].kind].patterns.Score(problem, kids);
  }
  double ReplyScore(const NodeProblem& problem, uint32_t parent,
                    std::span<const uint32_t> kids) const;
  // Of which calls it makes: at least that part of the score of anything that begins with these.
  double MostFrom(const NodeProblem& problem, uint32_t parent,
                  std::span<const uint32_t> kids) const {
    return behaviours_[problem.parents[parent].kind].patterns.MostFrom(problem, kids);
  }
  // Log likelihood of a child that nothing here caused.
  double OrphanScore(const NodeProblem& problem, uint32_t child) const {
    return orphan_[problem.children[child].kind];
  }
  // Learnt of parents of one kind, it holds for so many.
  void ForAllKinds(uint32_t parent_kinds);
  // What it takes to tell the model (log): the freedom that a likelihood is paid for with.
  double Cost() const;
  bool AnySideBySide() const;
  // At least so many children of each kind have no parent (log of the share).
  void AllowOrphans(double least);
  // Log likelihood of a child, were all of its kind to come at random.
  double ChanceScore(const NodeProblem& problem, uint32_t child) const {
    return chance_[problem.children[child].kind];
  }

 private:
  static constexpr uint32_t kSlots =
      3;  // the first, second and every later call to a callee differ
  struct Behaviour {
    Patterns patterns;
    std::vector<TriggerMixture> sends;  // child kind * kSlots + slot
    // Per child kind: its calls are made side by side, each without regard to the others, so that slots do not differ.
    std::vector<uint8_t> side_by_side;
    TriggerMixture reply;
    // Per slot: log probability that at its sending an earlier call is still out, and that all are back. Serial and
    // parallel calls, and calls that wait for all others, differ in this.
    std::vector<double> amid, alone;
    std::vector<double> outlives, ends_within;  // per child kind: log probability
  };

  void LearnPatterns(const NodeProblem& problem, const LinkDraws& draws, Positions positions,
                     Openness openness);
  void LearnDelays(const NodeProblem& problem, const LinkDraws& draws, Repeats repeats,
                   Positions positions, Openness openness);
  static bool IsAmid(const NodeProblem& problem, std::span<const uint32_t> kids, size_t at);
  void LearnOrphans(const NodeProblem& problem, const LinkDraws& draws);

  std::vector<Behaviour> behaviours_;    // per parent kind
  std::vector<double> orphan_, chance_;  // per child kind
  Evidence evidence_;
};

}  // namespace wf::paths
