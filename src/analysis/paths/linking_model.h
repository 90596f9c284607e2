// What parents of a kind do, learnt from an assignment: how likely is it that this parent made exactly these calls, at
// these times, and answered when it did?
//
// Three parts. Which calls: the multiset of callees, by how often it was seen. When: each call, and the answer, comes
// some time after an event of the same parent (its arrival, the return of an earlier call, the sending of one); which
// event sets it off is learnt as a mixture, each component with its own delays. On which thread, where that is told.
//
// Thread safety: a learnt model may be read from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"

namespace wf {

// Children of each parent, as indices in order (so by sent).
struct LinkState {
  std::vector<uint32_t> parent_of;           // per child; kNoParent: none
  std::vector<std::vector<uint32_t>> kids;   // per parent
};

class LinkModel {
 public:
  LinkModel(const NodeProblem& problem, const LinkState& state);

  // Log likelihood of everything a parent did, given these children (in order).
  double Score(uint32_t parent, std::span<const uint32_t> kids) const;
  // Log likelihood of a child that nothing here caused.
  double OrphanScore(uint32_t child) const { return orphan_[problem_->children[child].kind]; }

 private:
  enum class Trigger : uint8_t { kArrival, kReply, kAnyReturn, kAnySend, kReturnOf, kSendOf, kSiblingArrival, kSiblingReply };
  struct Component {
    Trigger trigger = Trigger::kArrival;
    uint32_t kind = 0;  // of kReturnOf and kSendOf
    double weight = 0;
    DelayDensity density;
  };
  using Mixture = std::vector<Component>;
  struct Rows;

  static constexpr uint32_t kSlots = 3;  // the first, second and every later call to one callee behave differently
  struct Behaviour {
    uint64_t parents = 0;
    std::unordered_map<uint64_t, double> patterns;   // by signature of the callees' multiset: log probability
    double unseen_pattern = 0;                       // log weight of patterns not seen
    std::vector<std::vector<double>> counts;         // per child kind, per number of calls: log probability
    std::vector<Mixture> sends;                      // child kind * kSlots + slot
    Mixture reply;
    std::vector<double> outlives, ends_within;       // per child kind: log probability
  };

  void LearnPatterns(const LinkState& state);
  void LearnDelays(const LinkState& state);
  void LearnThreads(const LinkState& state);
  void LearnOrphans(const LinkState& state);
  static Mixture Fit(const Rows& rows);
  double TriggerTime(const Component& component, uint32_t parent, std::span<const uint32_t> kids,
                     size_t before, Nanos at) const;
  double Density(const Mixture& mixture, uint32_t parent, std::span<const uint32_t> kids,
                 size_t before, Nanos at) const;
  double PatternScore(const Behaviour& behaviour, std::span<const uint32_t> kids) const;
  double ThreadScore(uint32_t parent, uint32_t child) const;

  const NodeProblem* problem_;
  std::vector<Behaviour> behaviours_;  // per parent kind
  std::vector<double> orphan_;         // per child kind
  double same_thread_ = 0, other_thread_ = 0;
};

}  // namespace wf
