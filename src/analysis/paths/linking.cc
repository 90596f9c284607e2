#include "analysis/paths/linking.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_solver.h"

namespace wf {
namespace {

void LinkNode(const NodeProblem& problem, const LinkOptions& options, std::vector<Assignment>& out) {
  const bool loud = getenv("LOUD");
  LinkState best;
  double best_total = -1e300;
  for (int start = 0; start < 2; ++start) {
    LinkState state = start == 0 ? FirstComeFirstServed(problem) : LatestFirst(problem);
    double total = 0;
    for (int round = 0; round < 8; ++round) {
      const LinkModel model(problem, state);
      LinkSolver solver(problem, model, state);
      const double before = solver.total();
      total = solver.Improve(6);
      if (loud) fprintf(stderr, " start %d round %d: %.1f -> %.1f\n", start, round, before, total);
    }
    if (total > best_total) {
      best_total = total;
      best = std::move(state);
    }
  }
  const LinkModel model(problem, best);
  LinkSolver solver(problem, model, best);
  solver.Improve(6);
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    Assignment& a = out[problem.children[child].call];
    std::vector<Candidate> all = solver.Weigh(child);
    const auto call_of = [&](uint32_t parent) { return parent == kNoParent ? kNoParent : problem.parents[parent].call; };
    a.parent = call_of(all[0].parent);
    a.p = all[0].p;
    for (size_t i = 1; i < all.size() && a.others.size() < options.candidates; ++i) {
      a.others.push_back({call_of(all[i].parent), all[i].p});
    }
  }
}

}  // namespace

std::vector<Assignment> LinkCalls(std::span<const Call> calls, const LinkOptions& options, LinkCounts* counts) {
  std::vector<Assignment> out(calls.size());
  std::map<NodeId, std::pair<std::vector<uint32_t>, std::vector<uint32_t>>> nodes;
  for (uint32_t i = 0; i < calls.size(); ++i) {
    nodes[calls[i].callee].first.push_back(i);
    nodes[calls[i].caller].second.push_back(i);
  }
  for (const auto& [node, work] : nodes) {
    if (work.first.empty() || work.second.empty()) continue;
    const NodeProblem problem = MakeNodeProblem(calls, work.first, work.second, options.skew_window);
    if (getenv("LOUD")) fprintf(stderr, "node %u: %zu in %zu out\n", node, work.first.size(), work.second.size());
    LinkNode(problem, options, out);
    if (counts) counts->candidates_cut += problem.cut;
  }
  return out;
}

}  // namespace wf
