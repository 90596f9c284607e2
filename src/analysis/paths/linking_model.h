// What parents of a kind do, learnt from an assignment: how likely is it that this parent made exactly these calls, at
// these times, and replied when it did?
//
// Three parts. Which calls: the multiset of callees, by how often it was seen (linking_patterns.h). When:
// each call, and the reply, comes some time after an event of the same parent (its arrival, the return of an
// earlier call, the sending of one) or of another call of the same request at this node; the triggering event
// is learnt as a mixture, each component with its own delays (linking_triggers.h). On which thread and
// connection, where that is known (linking_evidence.h).
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
  // Whether several calls to one callee may be parallel and independent of each other, or are distinguished
  // as first, second and so on. Where many requests overlap, serial calls are easily mistaken for parallel
  // ones, so both have to be tried.
  enum class Repeats : uint8_t { kInOrder, kMayBeSideBySide };

  // Where all assignments are weighed, positions are distinguished, or rare calls would be lost. Where one
  // assignment is changed step by step they are not, because its errors would be reinforced (real traces:
  // 79.6% right instead of 82.6%).
  using Positions = TriggerMixture::Positions;

  // The probability of what was never seen: low with kUsual. A model that is still growing has not seen
  // everything: with kToTimes, calls after the first may come at any time; with kToTimesAndSets, any set of
  // calls is also equally likely.
  enum class Openness : uint8_t { kUsual, kToTimes, kToTimesAndSets };

  // The problem may be a sample of the one to be scored; kinds have the same numbers in both.
  LinkModel(const NodeProblem& problem, const LinkDraws& draws, Repeats repeats = Repeats::kInOrder,
            Positions positions = Positions::kAlike, Openness openness = Openness::kUsual);
  LinkModel(const NodeProblem& problem, const LinkState& state, Repeats repeats = Repeats::kInOrder,
            Positions positions = Positions::kAlike)
      : LinkModel(problem, LinkDraws(problem, state), repeats, positions) {}

  // A model before any assignment is known. Which calls are made together is taken loosely from `state`.
  LinkModel(const NodeProblem& problem, const LinkState& state, const Kernels& kernels);

  // Log likelihood of everything a parent did, given these children (rising).
  double Score(const NodeProblem& problem, uint32_t parent, std::span<const uint32_t> kids) const;
  // The same in parts, to build sets from the earliest child on: what the last of `kids` adds to the earlier
  // ones, and what is added at the end of the set.
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
  // Upper bound of the pattern part of the score for any set that begins with these.
  double MostFrom(const NodeProblem& problem, uint32_t parent,
                  std::span<const uint32_t> kids) const {
    return behaviours_[problem.parents[parent].kind].patterns.MostFrom(problem, kids);
  }
  // Log likelihood of a child that nothing here caused.
  double OrphanScore(const NodeProblem& problem, uint32_t child) const {
    return orphan_[problem.children[child].kind];
  }
  // Applies what was learnt from parents of one kind to this number of kinds.
  void ForAllKinds(uint32_t parent_kinds);
  // Description length of the model (log): the penalty that a likelihood is compared against.
  double Cost() const;
  bool AnySideBySide() const;
  // Sets a lower bound for the share of children of each kind without a parent (as a log).
  void AllowOrphans(double least);
  // Log likelihood of a child if all of its kind came at random.
  double ChanceScore(const NodeProblem& problem, uint32_t child) const {
    return chance_[problem.children[child].kind];
  }

 private:
  // The first, second and every later call to a callee differ.
  static constexpr uint32_t kSlots = 3;
  struct Behaviour {
    Patterns patterns;
    std::vector<TriggerMixture> sends;  // child kind * kSlots + slot
    // Per child kind: its calls are parallel and independent, so that slots do not differ.
    std::vector<uint8_t> side_by_side;
    TriggerMixture reply;
    // Per slot: log probability that an earlier call is still out when it is sent, and that all are back.
    // Serial calls, parallel calls and calls that wait for all others differ in this.
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
