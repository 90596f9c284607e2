// How a node's parents behave, learnt in turns: a model from an assignment, then an assignment from the
// model.
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

struct Learnt {
  LinkState state;  // the best assignment found for the problem that was learnt from
  std::unique_ptr<LinkModel> model;  // the model that `state` was found under
  double total = 0;
  // Parents make so few calls that all assignments are weighed; then there is no state.
  bool by_beliefs = false;
  // 0, or the Standing that splits parents of a kind. Where a request comes to a node several times, only the
  // last of these calls may go on, for example where results are joined.
  uint8_t apart_by = 0;
};

// On return the kinds in `problem` are split by `apart_by`.
Learnt LearnNode(NodeProblem& problem, const Votes& votes);

// Splits each kind in two: parents that have the standing get kinds of their own. Returns the number of
// kinds.
size_t TellApart(NodeProblem& problem, uint8_t standing);

}  // namespace wf::paths
