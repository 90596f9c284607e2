#include "analysis/paths/linking.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"
#include "analysis/paths/linking_solver.h"

namespace wf {
#ifdef LINK_ORACLE
std::vector<uint32_t> g_truth;
int g_oracle = 0;
#endif
namespace {

void LinkNode(NodeProblem& problem, const LinkOptions& options, std::vector<Assignment>& out) {
  const bool loud = getenv("LOUD");
#ifdef LINK_ORACLE
  if (g_oracle) {
    LinkState truth;
    truth.parent_of.assign(problem.children.size(), kNoParent);
    truth.kids.resize(problem.parents.size());
    std::map<uint32_t, uint32_t> at;
    for (uint32_t i = 0; i < problem.parents.size(); ++i) at[problem.parents[i].call] = i;
    for (uint32_t i = 0; i < problem.children.size(); ++i) {
      auto it = at.find(g_truth[problem.children[i].call]);
      if (it == at.end()) continue;
      truth.parent_of[i] = it->second;
      truth.kids[it->second].push_back(i);
    }
    if (getenv("OSPLIT")) { uint32_t k = problem.parent_kinds; for (auto& p : problem.parents) if (p.standing & 8) p.kind += k; problem.parent_kinds *= 2; }
    const LinkModel model(problem, truth);
    LinkState state = g_oracle == 1 ? truth : FirstComeFirstServed(problem);
    LinkSolver solver(problem, model, state);
    double b = solver.total();
    if (getenv("OSHAKE")) for (int i=0;i<10;++i) solver.Shake(atof(getenv("OSHAKE"))*pow(0.7,i), 2);
    double e = solver.Improve(30);
    if (loud) { int o=0; for (auto x: state.parent_of) o += x == kNoParent; fprintf(stderr, "orphans %d\n", o);
      int shown = 0;
      for (uint32_t i = 0; i < problem.parents.size() && shown < 12; ++i) if (state.kids[i] != truth.kids[i] && g_oracle == 2) { ++shown;
        fprintf(stderr, "parent %u [%ld %ld] truth %.1f:", i, problem.parents[i].opened/1000000%1000000, problem.parents[i].replied/1000000%1000000, model.Score(i, truth.kids[i]));
        for (uint32_t k : truth.kids[i]) fprintf(stderr, " %u(%ld-%ld)", k, problem.children[k].sent/1000000%1000000, problem.children[k].ended/1000000%1000000);
        fprintf(stderr, "  found %.1f:", model.Score(i, state.kids[i]));
        for (uint32_t k : state.kids[i]) fprintf(stderr, " %u(%ld-%ld)", k, problem.children[k].sent/1000000%1000000, problem.children[k].ended/1000000%1000000);
        fprintf(stderr, "\n"); } }
    if (loud) fprintf(stderr, "  oracle %d: %.1f -> %.1f\n", g_oracle, b, e);
    for (uint32_t child = 0; child < problem.children.size(); ++child) {
      out[problem.children[child].call].parent = state.parent_of[child] == kNoParent ? kNoParent : problem.parents[state.parent_of[child]].call;
    }
    return;
  }
#endif
  LinkState best;
  double best_total = -1e300;
  const auto turns = [&](LinkState& state, int rounds, const char* what) {
    static const char* xr = getenv("XR");
    if (xr) rounds += atoi(xr);
    double total = 0;
    for (int round = 0; round < rounds; ++round) {
      const LinkModel model(problem, state);
      LinkSolver solver(problem, model, state);
      const double before = solver.total();
      static const char* shake = getenv("SHAKE");
      static const char* sw = getenv("SWEEPS");
      static const char* sem = getenv("SEM");
      if (sem) {
        solver.Shake(atof(sem), sw ? atoi(sw) : 1);
        total = solver.total();
        if (round + 1 == rounds) total = solver.Improve(6);
      } else
      if (shake && round < 6) solver.Shake(atof(shake) * (1 - round / 6.0), sw ? atoi(sw) : 1);
      if (!sem) total = solver.Improve(6);
      if (loud) fprintf(stderr, " %s round %d: %.1f -> %.1f\n", what, round, before, total);
    }
    return total;
  };
  for (int start = 0; start < 3; ++start) {
    LinkState state = start == 0 ? FirstComeFirstServed(problem) : start == 1 ? LatestFirst(problem) : ByVotes(problem);
    static const char* which = getenv("START"); if (which && !strchr(which, '0' + start)) continue;
    const double total = turns(state, 8, start == 0 ? "fcfs" : start == 1 ? "latest" : "votes");
    if (total > best_total) {
      best_total = total;
      best = std::move(state);
    }
  }
  // Does it matter whether a call is the first or the last of its request here?
  const uint32_t kinds = problem.parent_kinds;
  std::vector<uint32_t> plain;
  for (const LinkParent& p : problem.parents) plain.push_back(p.kind);
  const auto split = [&](uint8_t by) {
    uint32_t other = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      LinkParent& p = problem.parents[i];
      p.kind = plain[i] + ((p.standing & by) ? kinds : 0);
      other += (p.standing & by) ? 1 : 0;
    }
    problem.parent_kinds = 2 * kinds;
    return other;
  };
  uint8_t chosen = 0;
  const LinkState unsplit = best;
  if (!getenv("NOSPLIT")) for (uint8_t by : {kLastToReply, kLastToArrive, kFirstToArrive, kFirstToReply}) {
    if (split(by) < 10) break;
    LinkState state = getenv("FRESHV") ? ByVotes(problem) : getenv("FRESH") ? FirstComeFirstServed(problem) : unsplit;
    char name[10]; sprintf(name, "split%d", by);
    const double total = turns(state, 6, name);
    if (total > best_total + 20.0 * kinds) {
      best_total = total;
      best = std::move(state);
      chosen = by;
    }
  }
  if (chosen) split(chosen);
  else {
    for (size_t i = 0; i < plain.size(); ++i) problem.parents[i].kind = plain[i];
    problem.parent_kinds = kinds;
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
  // Callers first, so that the request a call belongs to is known when its callee is looked at.
  std::vector<NodeId> order;
  {
    std::map<NodeId, int> mark;
    const auto visit = [&](auto&& self, NodeId node) -> void {
      if (mark[node]) return;
      mark[node] = 1;
      std::map<NodeId, int> callers;
      for (uint32_t i : nodes[node].first) callers[calls[i].caller] = 1;
      for (const auto& [caller, one] : callers) self(self, caller);
      order.push_back(node);
    };
    for (const auto& [node, work] : nodes) visit(visit, node);
  }
  std::vector<uint32_t> root(calls.size());
  for (uint32_t i = 0; i < root.size(); ++i) root[i] = i;
  for (NodeId node : order) {
    const auto& work = nodes[node];
    if (work.first.empty() || work.second.empty()) continue;
    NodeProblem problem = MakeNodeProblem(calls, work.first, work.second, options.skew_window);
    {
      std::map<uint32_t, std::vector<uint32_t>> requests;
      for (uint32_t i = 0; i < problem.parents.size(); ++i) requests[root[problem.parents[i].call]].push_back(i);
      for (auto& [request, of] : requests) {
        if (of.size() < 2) continue;
        for (uint32_t i : of) {
          problem.parents[i].first_sibling = static_cast<uint32_t>(problem.siblings.size());
          problem.parents[i].sibling_count = static_cast<uint32_t>(of.size());
        }
        problem.siblings.insert(problem.siblings.end(), of.begin(), of.end());
        problem.parents[of.front()].standing |= kFirstToArrive;
        problem.parents[of.back()].standing |= kLastToArrive;
        std::stable_sort(of.begin(), of.end(), [&](uint32_t a, uint32_t b) { return problem.parents[a].replied < problem.parents[b].replied; });
        problem.parents[of.front()].standing |= kFirstToReply;
        problem.parents[of.back()].standing |= kLastToReply;
      }
    }
    if (getenv("LOUD")) fprintf(stderr, "node %u: %zu in %zu out\n", node, work.first.size(), work.second.size());
    LinkNode(problem, options, out);
    for (const LinkChild& child : problem.children) {
      const uint32_t parent = out[child.call].parent;
      if (parent != kNoParent) root[child.call] = root[parent];
    }
    if (counts) counts->candidates_cut += problem.cut;
  }
  return out;
}

}  // namespace wf
