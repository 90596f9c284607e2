// What sets the events of a node off, told from all pairs of events at once, before anything is known of which belong
// together: a beginning for linking where so many parents are in question for each call that no assignment is near.
//
// Each call, and each reply, is taken to be caused by one event before it: the arrival of a parent that is open, or the
// return of a call. Delays that occur more often than by chance are believed in more, in turns. (This is expectation
// maximisation for a Hawkes process with kernels of any shape.)
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/linking_delays.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_triggers.h"

namespace wf::paths {

class Kernels {
 public:
  // Parents of all kinds are taken to behave alike.
  explicit Kernels(const NodeProblem& problem);

  const std::vector<TriggerCause>& OfCallsTo(uint32_t kind) const { return causes_[kind]; }
  const std::vector<TriggerCause>& OfReplies() const { return causes_.back(); }

 private:
  std::vector<std::vector<TriggerCause>> causes_;  // per child kind; the last: of replies
};

}  // namespace wf::paths
