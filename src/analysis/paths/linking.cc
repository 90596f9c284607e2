// The order of work: nodes are processed callers first, so that it is known which calls into a node belong to
// one request. At each node the model is learnt from a sample, if the trace is long; with the model, all
// calls are decided and weighed, window by window. Independent nodes are processed in parallel.
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

namespace wf::paths {
namespace {

// The number of children in a sample; fewer if each has many candidates. A trace that is not much longer is
// learnt from as a whole.
constexpr double kMostLearnFrom = 6000, kLeastLearnFrom = 3000;
constexpr double kLearnFromPairs = 30'000;
constexpr double kMostStretches = 4;
// At both ends of a stretch parents are seen in part: about as many as are open at a time, which must be few of all.
constexpr double kLeastPerOpen = 20;
// A longer trace is decided window by window, so that the data in use does not grow with it.
constexpr size_t kWindow = 8000, kMostEdge = 2000;  // children
constexpr int kShakes = 3;  // where the votes erred, the best moves alone do not get far
constexpr uint64_t kSeed = 1;

struct LinkingNode {
  NodeId id = 0;
  std::vector<uint32_t> incoming, outgoing;  // calls, in line order
  uint32_t level = 0;                        // callers have lower ones, except around cycles
};

// Nodes by first appearance, so that how they are numbered changes nothing.
std::vector<LinkingNode> NodesOf(std::span<const Call> calls) {
  std::vector<LinkingNode> nodes;
  std::unordered_map<NodeId, uint32_t> index;
  const auto at = [&](NodeId id) -> LinkingNode& {
    const auto [it, fresh] = index.try_emplace(id, static_cast<uint32_t>(nodes.size()));
    if (fresh) nodes.push_back({id, {}, {}, 0});
    return nodes[it->second];
  };
  for (uint32_t i = 0; i < calls.size(); ++i) {
    at(calls[i].caller).outgoing.push_back(i);
    at(calls[i].callee).incoming.push_back(i);
  }
  // Callers of each node, without duplicates.
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

// Records the parents of these children, with their probabilities.
void Report(const NodeProblem& problem, Learnt& learnt, ChildRange of, const LinkOptions& options,
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
  for (auto child = static_cast<uint32_t>(of.from); child < of.to; ++child) {
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

// Decisions at the edge of a window are made again, with more context, in the next one: edges are as wide as
// the longest call, within bounds.
ChildRange WithEdges(const NodeProblem& problem, ChildRange window) {
  const Nanos reach = 2 * problem.longest + problem.latest + problem.slack;
  const Nanos begin = problem.children[window.from].sent - reach;
  const Nanos end = problem.children[window.to - 1].sent + reach;
  const size_t all = problem.children.size();
  ChildRange wide = window;
  while (wide.from > 0 && window.from - wide.from < kMostEdge &&
         problem.children[wide.from - 1].sent >= begin) {
    --wide.from;
  }
  while (wide.to < all && wide.to - window.to < kMostEdge &&
         problem.children[wide.to].sent <= end) {
    ++wide.to;
  }
  return wide;
}

void LinkNode(NodeProblem& problem, const LinkOptions& options,
              std::vector<Assignment>& assignments) {
  const size_t all = problem.children.size();
  // A child with many candidates is much work and says little, so a sample has fewer of them.
  const double mean = MeanCandidates(problem);
  const bool crowded = IsCrowded(problem);
  const auto enough = static_cast<size_t>(
      std::clamp(kLearnFromPairs / std::max(1.0, mean), kLeastLearnFrom, kMostLearnFrom));
  if (all <= 3 * enough) {
    FindCandidates(problem);
    const Votes votes(problem);
    if (!crowded) votes.Prune(problem, Votes::kMostWeighed);
    Learnt learnt = LearnNode(problem, votes);
    Report(problem, learnt, {0, all}, options, assignments);
    return;
  }
  const auto stretches = static_cast<size_t>(std::clamp(
      static_cast<double>(enough) / (kLeastPerOpen * std::max(1.0, mean)), 1.0, kMostStretches));
  NodeProblem sample = SampleOf(problem, enough, stretches);
  const Votes votes(sample);
  if (!crowded) votes.Prune(sample, Votes::kMostWeighed);
  Learnt learnt = LearnNode(sample, votes);
  if (learnt.apart_by != 0) TellApart(problem, learnt.apart_by);
  for (size_t from = 0; from < all; from += kWindow) {
    const ChildRange core{from, std::min(all, from + kWindow)};
    const ChildRange wide = WithEdges(problem, core);
    NodeProblem window = CutOf(problem, {&wide, 1});
    if (!learnt.by_beliefs || !crowded) {
      votes.Prune(window, learnt.by_beliefs ? Votes::kMostWeighed : Votes::kMostTried);
    }
    if (!learnt.by_beliefs) {
      learnt.state = votes.Begin(window);
      LinkSolver solver(window, *learnt.model, learnt.state, kSeed);
      for (int i = 0; i < kShakes; ++i) solver.Shake();
      solver.Improve();
    }
    Report(window, learnt, {core.from - wide.from, core.to - wide.from}, options, assignments);
  }
}

// Where calls in both directions have equal or skewed times, each can be the other's parent; the least
// certain link of such a ring is removed.
void BreakRings(std::vector<Assignment>& assignments) {
  // The start of the walk that came by first.
  std::vector<uint32_t> seen_from(assignments.size(), kNoParent);
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
  std::vector<LinkingNode> nodes = NodesOf(calls);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const LinkingNode& a, const LinkingNode& b) { return a.level < b.level; });
  std::vector<uint32_t> request_of(calls.size());  // the call that began it all, as far as is known
  for (uint32_t i = 0; i < request_of.size(); ++i) request_of[i] = i;

  std::atomic<uint64_t> cut = 0;
  const auto work = [&](const LinkingNode& node) {
    if (node.incoming.empty() || node.outgoing.empty()) return;
    NodeProblem problem = MakeNodeProblem(calls, node.incoming, node.outgoing, options.skew_window);
    cut += problem.cut;
    FindSiblings(problem, request_of);
    LinkNode(problem, options, assignments);
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

}  // namespace wf::paths
