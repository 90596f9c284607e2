#include "analysis/paths/linking_evidence.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf::paths {
namespace {

constexpr double kConnectionPrior = 5;  // observations that say nothing
constexpr double kLeastSure = 50;  // calls with one parent in question, before connections count

uint64_t PairKey(uint64_t a, uint64_t b) { return MixBits(a) + 3 * b; }

}  // namespace

Evidence::Evidence(const NodeProblem& problem, const LinkDraws& draws) {
  LearnThreads(problem, draws);
  LearnConnections(problem);
}

void Evidence::LearnThreads(const NodeProblem& problem, const LinkDraws& draws) {
  // How much more often is the thread the same for the chosen parents than for the others in question?
  double chosen = 1, chosen_same = 0.5, other = 1, other_same = 0.5;
  for (uint32_t i = 0; i < problem.children.size(); ++i) {
    const uint64_t thread = problem.children[i].thread;
    if (thread == 0 || draws.parent_of[i] == kNoParent) continue;
    for (uint32_t parent : problem.CandidatesOf(i)) {
      const uint64_t at = problem.parents[parent].thread;
      if (at == 0) continue;
      const bool is_chosen = parent == draws.parent_of[i];
      (is_chosen ? chosen : other) += 1;
      if (at == thread) (is_chosen ? chosen_same : other_same) += 1;
    }
  }
  const double same = chosen_same / chosen, chance = other_same / other;
  same_thread_ = std::log(same / chance);
  other_thread_ = std::log((1 - same) / (1 - chance));
}

void Evidence::LearnConnections(const NodeProblem& problem) {
  for (uint32_t i = 0; i < problem.children.size(); ++i) {
    const LinkChild& child = problem.children[i];
    if (child.conn == 0 || child.candidate_count != 1) continue;
    const uint64_t conn = problem.parents[problem.CandidatesOf(i)[0]].conn;
    if (conn == 0) continue;
    together_[PairKey(conn, child.conn)] += 1;
    from_[conn] += 1;
    to_[child.conn] += 1;
    all_ += 1;
  }
}

double Evidence::Most() const {
  // A joint count is at most the count of the one, and the other is at least one of all.
  return std::max({0.0, same_thread_, other_thread_}) + (all_ >= kLeastSure ? std::log(all_) : 0);
}

double Evidence::Score(const LinkParent& parent, const LinkChild& child) const {
  double score = 0;
  if (parent.thread != 0 && child.thread != 0) {
    score += parent.thread == child.thread ? same_thread_ : other_thread_;
  }
  if (all_ >= kLeastSure && parent.conn != 0 && child.conn != 0) {
    const auto to = to_.find(child.conn);
    const auto from = from_.find(parent.conn);
    if (to != to_.end() && from != from_.end()) {
      const auto together = together_.find(PairKey(parent.conn, child.conn));
      const double chance = to->second / all_;
      const double seen = together == together_.end() ? 0 : together->second;
      score += std::log((seen + kConnectionPrior * chance) /
                        ((from->second + kConnectionPrior) * chance));
    }
  }
  return score;
}

}  // namespace wf::paths
