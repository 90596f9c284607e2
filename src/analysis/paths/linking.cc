// The order of work: nodes are taken callers first, so that it is known which calls into a node belong to one request.
// At each node a sample is learnt from, if the trace is long; what was learnt begins the assignment of all, which is
// then improved and weighed. Nodes that do not wait for each other are worked on in parallel.
#include "analysis/paths/linking.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <unordered_map>

#include "analysis/paths/linking_beliefs.h"
#include "analysis/paths/linking_learning.h"
#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_solver.h"

namespace wf {
namespace {

// A sample to learn from has so many children, fewer if each has many candidates. A trace not much longer is learnt from
// as a whole.
constexpr double kMostLearnFrom = 6000, kLeastLearnFrom = 3000;
constexpr double kLearnFromPairs = 30'000;
constexpr size_t kStretches = 4;
constexpr int kShakes = 3;  // where the votes erred, the best moves alone do not get far
constexpr uint64_t kSeed = 1;

struct Node {
  NodeId id = 0;
  std::vector<uint32_t> incoming, outgoing;  // calls, in line order
  uint32_t level = 0;                        // callers have lower ones, except around cycles
};

// Nodes by first appearance, so that how they are numbered changes nothing.
std::vector<Node> NodesOf(std::span<const Call> calls) {
  std::vector<Node> nodes;
  std::unordered_map<NodeId, uint32_t> index;
  const auto at = [&](NodeId id) -> Node& {
    const auto [it, fresh] = index.try_emplace(id, static_cast<uint32_t>(nodes.size()));
    if (fresh) nodes.push_back({id, {}, {}, 0});
    return nodes[it->second];
  };
  for (uint32_t i = 0; i < calls.size(); ++i) {
    at(calls[i].caller).outgoing.push_back(i);
    at(calls[i].callee).incoming.push_back(i);
  }
  // Who calls whom, once each.
  std::vector<std::vector<uint32_t>> callers(nodes.size());
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    for (uint32_t call : nodes[n].incoming) callers[n].push_back(index[calls[call].caller]);
    std::sort(callers[n].begin(), callers[n].end());
    callers[n].erase(std::unique(callers[n].begin(), callers[n].end()), callers[n].end());
  }
  // Levels by depth first; a caller met while its own level is being found closes a cycle and does not count.
  enum Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(nodes.size(), kNew);
  std::vector<std::pair<uint32_t, size_t>> path;  // node, next caller
  for (uint32_t start = 0; start < nodes.size(); ++start) {
    if (marks[start] != kNew) continue;
    path.emplace_back(start, 0);
    marks[start] = kOpen;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next == callers[node].size()) {
        for (uint32_t caller : callers[node]) {
          if (marks[caller] == kDone)
            nodes[node].level = std::max(nodes[node].level, nodes[caller].level + 1);
        }
        marks[node] = kDone;
        path.pop_back();
        continue;
      }
      const uint32_t caller = callers[node][next++];
      if (marks[caller] != kNew) continue;
      marks[caller] = kOpen;
      path.emplace_back(caller, 0);
    }
  }
  return nodes;
}

// The best assignment of all children, and the model it is the best under.
Learnt LinkNode(NodeProblem& problem) {
  // A child with many candidates is much work and tells little; a sample need not have more of them.
  const double mean =
      static_cast<double>(problem.candidates.size()) / static_cast<double>(problem.children.size());
  const auto enough = static_cast<size_t>(
      std::clamp(kLearnFromPairs / std::max(1.0, mean), kLeastLearnFrom, kMostLearnFrom));
  if (problem.children.size() <= 3 * enough) {
    const Votes votes(problem);
    votes.Prune(problem);
    return LearnNode(problem, votes);
  }
  NodeProblem sample = SampleOf(problem, enough, kStretches);
  const Votes votes(sample);
  votes.Prune(sample);
  Learnt learnt = LearnNode(sample, votes);
  if (learnt.apart_by != 0) TellApart(problem, learnt.apart_by);
  votes.Prune(problem);
  if (learnt.by_beliefs) return learnt;
  learnt.state = votes.Begin(problem);
  LinkSolver solver(problem, *learnt.model, learnt.state, kSeed);
  for (int i = 0; i < kShakes; ++i) solver.Shake();
  solver.Improve();
  return learnt;
}

void Report(const NodeProblem& problem, Learnt learnt, const LinkOptions& options,
            std::vector<Assignment>& assignments) {
  std::optional<Explanations> explanations;
  std::optional<Beliefs> beliefs;
  if (learnt.by_beliefs) {
    explanations.emplace(problem, *learnt.model);
    learnt.state =
        Beliefs(problem, *learnt.model, *explanations, Beliefs::Sureness::kFull).Decide();
    beliefs.emplace(problem, *learnt.model, *explanations, Beliefs::Sureness::kHalf);
  }
  LinkSolver solver(problem, *learnt.model, learnt.state, kSeed);
  if (learnt.by_beliefs) solver.Improve();
  const auto call_of = [&](uint32_t parent) {
    return parent == kNoParent ? kNoParent : problem.parents[parent].call;
  };
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    const std::vector<Candidate> all =
        beliefs ? beliefs->Weigh(child, learnt.state.parent_of[child]) : solver.Weigh(child);
    Assignment& assignment = assignments[problem.children[child].call];
    assignment.parent = call_of(all[0].parent);
    assignment.p = all[0].p;
    for (size_t i = 1; i < all.size() && i <= options.candidates; ++i) {
      assignment.others.push_back({call_of(all[i].parent), all[i].p});
    }
  }
}

// Where calls back and forth have the same times, or skewed ones, each can be the other's parent; the least sure link of
// such a ring is given up.
void BreakRings(std::vector<Assignment>& assignments) {
  std::vector<uint32_t> seen_from(assignments.size(),
                                  kNoParent);  // the start of the walk that came by first
  for (uint32_t start = 0; start < assignments.size(); ++start) {
    uint32_t at = start;
    while (at != kNoParent && seen_from[at] == kNoParent) {
      seen_from[at] = start;
      at = assignments[at].parent;
    }
    if (at == kNoParent || seen_from[at] != start) continue;
    uint32_t weakest = at;
    for (uint32_t i = assignments[at].parent; i != at; i = assignments[i].parent) {
      const double p = assignments[i].p, least = assignments[weakest].p;
      if (p < least || (p == least && i < weakest)) weakest = i;
    }
    assignments[weakest].parent = kNoParent;
  }
}

}  // namespace

std::vector<Assignment> LinkCalls(std::span<const Call> calls, const LinkOptions& options,
                                  LinkCounts* counts) {
  std::vector<Assignment> assignments(calls.size());
  std::vector<Node> nodes = NodesOf(calls);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.level < b.level; });
  std::vector<uint32_t> request_of(calls.size());  // the call that began it all, as far as is known
  for (uint32_t i = 0; i < request_of.size(); ++i) request_of[i] = i;

  std::atomic<uint64_t> cut = 0;
  const auto work = [&](const Node& node) {
    if (node.incoming.empty() || node.outgoing.empty()) return;
    NodeProblem problem = MakeNodeProblem(calls, node.incoming, node.outgoing, options.skew_window);
    cut += problem.cut;
    FindSiblings(problem, request_of);
    Report(problem, LinkNode(problem), options, assignments);
  };
  const size_t most =
      options.threads != 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  for (size_t from = 0, to = 0; from < nodes.size(); from = to) {
    while (to < nodes.size() && nodes[to].level == nodes[from].level) ++to;
    std::atomic<size_t> next = from;
    const auto run = [&] {
      for (size_t i = next++; i < to; i = next++) work(nodes[i]);
    };
    std::vector<std::thread> helpers;
    for (size_t i = 1; i < std::min(most, to - from); ++i) helpers.emplace_back(run);
    run();
    for (std::thread& helper : helpers) helper.join();
    for (size_t i = from; i < to; ++i) {
      for (uint32_t call : nodes[i].outgoing) {
        const uint32_t parent = assignments[call].parent;
        if (parent != kNoParent) request_of[call] = request_of[parent];
      }
    }
  }
  BreakRings(assignments);
  if (counts != nullptr) counts->candidates_cut += cut;
  return assignments;
}

}  // namespace wf
