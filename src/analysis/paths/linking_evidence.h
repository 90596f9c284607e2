// Threads and connections as evidence, where they are known. Their weight is learnt: on a server with a
// thread per request the same thread says nearly everything, in an event loop nothing.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_state.h"

namespace wf::paths {

class Evidence {
 public:
  Evidence() = default;
  Evidence(const NodeProblem& problem, const LinkDraws& draws);

  // By how much the child's thread and connection make this parent likelier than any other: a log ratio.
  double Score(const LinkParent& parent, const LinkChild& child) const;
  double Most() const;  // upper bound of all scores

 private:
  void LearnThreads(const NodeProblem& problem, const LinkDraws& draws);
  void LearnConnections(const NodeProblem& problem);

  double same_thread_ = 0, other_thread_ = 0;
  // Calls out on a connection after calls in on another, where only one parent was possible.
  std::unordered_map<uint64_t, double> together_, from_, to_;
  double all_ = 0;
};

}  // namespace wf::paths
