// What triggers an event of a parent, and how long after the trigger it comes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"

namespace wf::paths {

enum class Trigger : uint8_t {
  kArrival,    // of the parent
  kReply,      // of the parent
  kAnyReturn,  // the latest return of the parent's calls
  kAnySend,
  kReturnOf,  // the latest return from one callee
  kSendOf,
  kSiblingArrival,  // the latest arrival of other calls of the same request at this node
  kSiblingReply,
};

// An event of a parent to be explained: what came before it.
struct Moment {
  uint32_t parent = 0;
  std::span<const uint32_t> kids;  // all children of the parent
  size_t before = 0;               // how many of them were sent earlier
  Nanos at = 0;
};

// Delays of similar events: a row per event, a column per possible trigger.
class TriggerRows {
 public:
  // `frequent`: child kinds that may be triggers of their own.
  TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent);
  // The same, without the effect that calls to one callee have on each other.
  TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent, uint32_t not_by);
  void Add(const NodeProblem& problem, const Moment& moment);
  void Append(const TriggerRows& other) {  // with the same columns
    delays_.insert(delays_.end(), other.delays_.begin(), other.delays_.end());
    later_.insert(later_.end(), other.later_.begin(), other.later_.end());
  }
  size_t size() const { return later_.size(); }

 private:
  friend class TriggerMixture;
  struct Column {
    Trigger trigger = Trigger::kArrival;
    uint32_t kind = 0;
  };
  std::vector<Column> columns_;
  std::vector<double> delays_;  // row-major; NaN: that trigger had not happened
  std::vector<uint8_t> later_;  // per row: not the first call
};

// How often one kind of trigger causes events of one kind, as far as is known, and with which delays
// (rising).
struct TriggerCause {
  Trigger trigger = Trigger::kArrival;
  uint32_t kind = 0;
  std::vector<WeightedDelay> delays;
};

class TriggerMixture {
 public:
  // Whether the triggers of a parent's first event are distinguished from those of later ones.
  enum class Positions : uint8_t { kAlike, kApart };

  TriggerMixture() = default;
  // `broad`: the density, per ns, at positions without rows; 0: the other positions' densities apply.
  TriggerMixture(const TriggerRows& rows, Positions positions, double broad);
  // A first event can only be caused by the arrival.
  TriggerMixture(std::span<const TriggerCause> causes, double broad);
  // Density of the event happening when it did, per ns.
  double At(const NodeProblem& problem, const Moment& moment) const;
  // Adds to `spans` the times at which a call after all of `kids` has at least this density; at all other
  // times it has less. `spans` may overlap.
  struct Span {
    double from = 0, to = 0;  // ns
  };
  void Where(const NodeProblem& problem, uint32_t parent, std::span<const uint32_t> kids,
             double least, std::vector<Span>& spans) const;
  // Description length of the learnt parameters: half the logarithm of the number of samples for each.
  double Cost() const { return cost_; }
  double Fit() const { return fit_; }  // log likelihood of the rows it was learnt from

 private:
  // A first call has other triggers than a later one. If a return had a low weight as a trigger only because
  // second calls are rare, those calls would be counted as rare twice, and learning would lose them.
  enum Position : uint8_t { kFirst, kLater, kPositions };
  struct Component {
    Trigger trigger = Trigger::kArrival;
    uint32_t kind = 0;
    double weights[kPositions] = {0, 0};
    DelayDensity density;

    bool Used() const { return weights[kFirst] > 0 || weights[kLater] > 0; }
  };
  static Position PositionOf(const Moment& moment) { return moment.before == 0 ? kFirst : kLater; }

  std::vector<Component> components_;
  double broad_[kPositions] = {0, 0};
  double cost_ = 0, fit_ = 0;
};

}  // namespace wf::paths
