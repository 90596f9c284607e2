// What triggers the events of a node, estimated from all pairs of events at once, before anything is known
// about which belong together. Linking starts from this where each call has too many possible parents for any
// first assignment to be near the truth.
//
// Each call, and each reply, is assumed to be caused by one earlier event: the arrival of an open parent, or
// the return of a call. Delays that occur more often than by chance get more weight, in rounds. (This is
// expectation maximisation for a Hawkes process with kernels of any shape.)
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_triggers.h"

namespace wf::paths {

class Kernels {
 public:
  // Assumes that parents of all kinds behave alike.
  explicit Kernels(const NodeProblem& problem);

  const std::vector<TriggerCause>& OfCallsTo(uint32_t kind) const { return causes_[kind]; }
  const std::vector<TriggerCause>& OfReplies() const { return causes_.back(); }

 private:
  std::vector<std::vector<TriggerCause>> causes_;  // per child kind; the last entry is for replies
};

}  // namespace wf::paths
