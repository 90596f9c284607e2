// How a node's parents behave, learnt by turns: from an assignment a model, from the model an assignment.
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

struct Learnt {
  LinkState state;  // the best assignment found for the problem that was learnt from
  std::unique_ptr<LinkModel> model;  // under which it is
  double total = 0;
  bool by_beliefs =
      false;  // what parents do is few enough calls to weigh all ways; then there is no state
  // 0, or by which Standing parents of a kind were told apart: where a request comes to a node several times, only the
  // last of these calls may go on, as where results are joined.
  uint8_t apart_by = 0;
};

// `problem` is left with kinds told apart by `apart_by`.
Learnt LearnNode(NodeProblem& problem, const Votes& votes);

// Doubles the kinds: parents that have the standing get kinds of their own. Returns how many there are.
size_t TellApart(NodeProblem& problem, uint8_t standing);

}  // namespace wf::paths
