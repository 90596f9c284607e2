#include "analysis/paths/linking_problem.h"

#include <algorithm>
#include <unordered_map>

namespace wf {
namespace {

// A child chooses among so many open parents at most: the latest and the longest open. More are never told apart by
// delays, and a node that never answers must not make the work grow with the square of the trace.
constexpr size_t kMostCandidates = 64;

// Kinds are numbered as they first appear, so that how nodes are numbered changes nothing.
class Kinds {
 public:
  uint32_t Of(NodeId node) {
    return by_node_.try_emplace(node, static_cast<uint32_t>(by_node_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(by_node_.size()); }

 private:
  std::unordered_map<NodeId, uint32_t> by_node_;
};

void FindCandidates(NodeProblem& problem) {
  std::vector<uint32_t> open;  // by rising arrival
  size_t next = 0;
  for (LinkChild& child : problem.children) {
    while (next < problem.parents.size() &&
           problem.parents[next].opened <= child.sent + problem.slack) {
      open.push_back(static_cast<uint32_t>(next++));
    }
    std::erase_if(open, [&](uint32_t i) {
      const LinkParent& parent = problem.parents[i];
      return parent.returned && parent.replied + problem.slack < child.sent;
    });
    child.first_candidate = static_cast<uint32_t>(problem.candidates.size());
    if (open.size() <= kMostCandidates) {
      problem.candidates.insert(problem.candidates.end(), open.begin(), open.end());
    } else {
      constexpr auto kHalf = static_cast<std::ptrdiff_t>(kMostCandidates / 2);
      problem.candidates.insert(problem.candidates.end(), open.begin(), open.begin() + kHalf);
      problem.candidates.insert(problem.candidates.end(), open.end() - kHalf, open.end());
      problem.cut += open.size() - kMostCandidates;
    }
    child.candidate_count =
        static_cast<uint32_t>(problem.candidates.size()) - child.first_candidate;
  }
}

}  // namespace

NodeProblem MakeNodeProblem(std::span<const Call> calls, std::span<const uint32_t> incoming,
                            std::span<const uint32_t> outgoing, Nanos skew_window) {
  NodeProblem problem;
  Kinds callers, callees;
  for (uint32_t index : incoming) {
    const Call& call = calls[index];
    problem.parents.push_back({index, callers.Of(call.caller), call.received_ns, call.replied_ns,
                               call.returned, call.received_thread, call.conn, 0, 0, 0});
    if (!call.own_received || (call.returned && !call.own_replied)) problem.slack = skew_window;
  }
  for (uint32_t index : outgoing) {
    const Call& call = calls[index];
    problem.children.push_back({index, callees.Of(call.callee), call.sent_ns, call.returned_ns,
                                call.returned, call.sent_thread, call.conn, 0, 0});
    if (!call.own_sent || (call.returned && !call.own_returned)) problem.slack = skew_window;
  }
  problem.parent_kinds = callers.size();
  problem.child_kinds = callees.size();
  std::stable_sort(problem.parents.begin(), problem.parents.end(),
                   [](const LinkParent& a, const LinkParent& b) { return a.opened < b.opened; });
  std::stable_sort(problem.children.begin(), problem.children.end(),
                   [](const LinkChild& a, const LinkChild& b) { return a.sent < b.sent; });
  if (!problem.children.empty()) {
    problem.first = problem.children.front().sent;
    problem.last = problem.children.back().sent;
  }
  FindCandidates(problem);
  return problem;
}

}  // namespace wf
