// What sets an event of a parent off, and how long after.
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
  kAnyReturn,  // the latest, of the parent's calls
  kAnySend,
  kReturnOf,  // the latest, to one callee
  kSendOf,
  kSiblingArrival,  // the latest, of other calls of the same request to this node
  kSiblingReply,
};

// An event of a parent to be explained: what came before it.
struct Moment {
  uint32_t parent = 0;
  std::span<const uint32_t> kids;  // all of the parent's
  size_t before = 0;               // of which so many were sent earlier
  Nanos at = 0;
};

// Delays of like events, a row per event and a column per possible trigger.
class TriggerRows {
 public:
  // `frequent`: child kinds that may be triggers of their own.
  TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent);
  // The same without what calls to one callee do to one another.
  TriggerRows(const NodeProblem& problem, std::span<const uint32_t> frequent, uint32_t not_by);
  void Add(const NodeProblem& problem, const Moment& moment);
  void Append(const TriggerRows& other) {  // of the same columns
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

// How often one kind of trigger sets off events of one kind, as far as is known, and with which delays (rising).
struct TriggerCause {
  Trigger trigger = Trigger::kArrival;
  uint32_t kind = 0;
  std::vector<WeightedDelay> delays;
};

class TriggerMixture {
 public:
  // Whether what sets off a parent's first event is told from what sets off later ones.
  enum class Positions : uint8_t { kAlike, kApart };

  TriggerMixture() = default;
  // `broad`: the density, per ns, at positions that no row is of; 0: what is known of the others holds for them.
  TriggerMixture(const TriggerRows& rows, Positions positions, double broad);
  // A first event can have no other cause than the arrival.
  TriggerMixture(std::span<const TriggerCause> causes, double broad);
  // Density of the event happening when it did, per ns.
  double At(const NodeProblem& problem, const Moment& moment) const;
  // Adds to `spans` when a call made after all of `kids` may be sent to have at least this density: at all other times it
  // has less. `spans` may overlap.
  struct Span {
    double from = 0, to = 0;  // ns
  };
  void Where(const NodeProblem& problem, uint32_t parent, std::span<const uint32_t> kids,
             double least, std::vector<Span>& spans) const;
  // What the numbers that were learnt cost to tell: half the logarithm of the number of samples each.
  double Cost() const { return cost_; }
  double Fit() const { return fit_; }  // log likelihood of the rows it was learnt from

 private:
  // What sets off a first call does not set off a later one. Were a return as unlikely to do so as second calls are rare,
  // these would be counted as rare twice, and learning would lose them.
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
