#include "analysis/paths/linking_problem.h"

#include <algorithm>
#include <unordered_map>

namespace wf::paths {
namespace {

// Max number of parents that a child chooses from: the latest and the longest open. Delays never distinguish
// more, and a node that never answers must not make the work grow with the square of the trace.
constexpr size_t kMostCandidates = 128;
constexpr size_t kMostOpen = 1024;  // of which candidates are picked

// If more than this share of the calls to a callee leave while no parent is open, its calls may follow the reply.
constexpr double kLateShare = 0.02;
constexpr size_t kLeastLate = 5;

constexpr double kCrowd = 12;  // candidates per child

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

void KeepEnds(std::vector<uint32_t>& open, size_t most) {
  const auto half = static_cast<std::ptrdiff_t>(most / 2);
  open.erase(open.begin() + half, open.end() - half);
}

// Calls act(child, parents in question) for one child after the other.
template <typename Act>
void ForEachChild(NodeProblem& problem, Act&& act) {
  std::vector<uint32_t> open, in_question;  // by rising arrival
  size_t next = 0;
  problem.cut = 0;
  for (uint32_t i = 0; i < problem.children.size(); ++i) {
    const LinkChild& child = problem.children[i];
    while (next < problem.parents.size() &&
           problem.parents[next].opened <= child.sent + problem.slack) {
      open.push_back(static_cast<uint32_t>(next++));
    }
    std::erase_if(open, [&](uint32_t parent) {
      return problem.ClosesAt(problem.parents[parent]) + problem.latest < child.sent;
    });
    if (open.size() > kMostOpen) {
      problem.cut += open.size() - kMostOpen;
      KeepEnds(open, kMostOpen);
    }
    in_question.clear();
    for (uint32_t parent : open) {
      if (problem.Allows(parent, i)) in_question.push_back(parent);
    }
    if (in_question.size() > kMostCandidates) {
      problem.cut += in_question.size() - kMostCandidates;
      KeepEnds(in_question, kMostCandidates);
    }
    act(problem.children[i], in_question);
  }
}

void CountCandidates(NodeProblem& problem) {
  ForEachChild(problem, [](LinkChild& child, const std::vector<uint32_t>& in_question) {
    child.candidate_count = static_cast<uint32_t>(in_question.size());
  });
}

// Which callees are called after the reply, and how long after it: seen where no parent at all is open.
void FindLateKinds(NodeProblem& problem) {
  std::vector<std::vector<Nanos>> behind(problem.child_kinds);
  std::vector<size_t> total(problem.child_kinds, 0);
  std::vector<Nanos> replies;
  for (const LinkParent& parent : problem.parents) {
    if (parent.returned) replies.push_back(parent.replied);
  }
  std::sort(replies.begin(), replies.end());
  for (const LinkChild& child : problem.children) {
    ++total[child.kind];
    if (child.candidate_count > 0) continue;
    const auto it = std::upper_bound(replies.begin(), replies.end(), child.sent);
    if (it != replies.begin()) behind[child.kind].push_back(child.sent - *(it - 1));
  }
  for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
    auto& delays = behind[kind];
    if (delays.size() < kLeastLate ||
        static_cast<double>(delays.size()) < kLateShare * static_cast<double>(total[kind])) {
      continue;
    }
    // The latest reply is not always the one that was followed, but most often it is; the rest is margin.
    const auto most = delays.begin() + static_cast<std::ptrdiff_t>(delays.size() * 9 / 10);
    std::nth_element(delays.begin(), most, delays.end());
    problem.late[kind] = 3 * *most;
    problem.latest = std::max(problem.latest, problem.late[kind]);
  }
}

}  // namespace

std::pair<uint32_t, uint32_t> NodeProblem::ChildrenOf(uint32_t parent) const {
  const LinkParent& p = parents[parent];
  const auto first = std::lower_bound(children.begin(), children.end(), p.opened - slack,
                                      [](const LinkChild& c, Nanos time) { return c.sent < time; });
  const auto last = std::upper_bound(first, children.end(), ClosesAt(p) + latest,
                                     [](Nanos time, const LinkChild& c) { return time < c.sent; });
  return {static_cast<uint32_t>(first - children.begin()),
          static_cast<uint32_t>(last - children.begin())};
}

NodeProblem MakeNodeProblem(std::span<const Call> calls, std::span<const uint32_t> incoming,
                            std::span<const uint32_t> outgoing, Nanos skew_window) {
  NodeProblem problem;
  Kinds callers, callees;
  problem.parents.reserve(incoming.size());
  problem.children.reserve(outgoing.size());
  for (uint32_t index : incoming) {
    const Call& call = calls[index];
    problem.parents.push_back({index, callers.Of(call.caller), call.received_ns, call.replied_ns,
                               call.returned, call.received_thread, call.conn, 0, 0, 0});
    if (!call.own_received || (call.returned && !call.own_replied)) problem.slack = skew_window;
    if (call.returned) {
      problem.longest = std::max(problem.longest, call.replied_ns - call.received_ns);
    }
  }
  for (uint32_t index : outgoing) {
    const Call& call = calls[index];
    problem.children.push_back({index, callees.Of(call.callee), call.sent_ns, call.returned_ns,
                                call.returned, call.sent_thread, call.conn, 0, 0});
    if (!call.own_sent || (call.returned && !call.own_returned)) problem.slack = skew_window;
  }
  if (problem.longest == 0) problem.longest = kHour;  // nothing ever returned: all stay open
  problem.parent_kinds = callers.size();
  problem.child_kinds = callees.size();
  problem.late.assign(problem.child_kinds, 0);
  std::stable_sort(problem.parents.begin(), problem.parents.end(),
                   [](const LinkParent& a, const LinkParent& b) { return a.opened < b.opened; });
  std::stable_sort(problem.children.begin(), problem.children.end(),
                   [](const LinkChild& a, const LinkChild& b) { return a.sent < b.sent; });
  CountCandidates(problem);
  FindLateKinds(problem);
  if (problem.latest > 0) CountCandidates(problem);
  return problem;
}

void FindCandidates(NodeProblem& problem) {
  problem.candidates.clear();
  ForEachChild(problem, [&](LinkChild& child, const std::vector<uint32_t>& in_question) {
    child.first_candidate = problem.candidates.size();
    child.candidate_count = static_cast<uint32_t>(in_question.size());
    problem.candidates.insert(problem.candidates.end(), in_question.begin(), in_question.end());
  });
}

double MeanCandidates(const NodeProblem& problem) {
  double sum = 0;
  for (const LinkChild& child : problem.children) sum += child.candidate_count;
  return sum / static_cast<double>(std::max<size_t>(1, problem.children.size()));
}

double MeanOpen(const NodeProblem& problem) {
  double open = 0;
  for (const LinkParent& parent : problem.parents) {
    open += static_cast<double>(parent.returned ? parent.replied - parent.opened : problem.longest);
  }
  return open / static_cast<double>(std::max<size_t>(1, problem.parents.size()));
}

bool MostReply(const NodeProblem& problem) {
  const auto replied = std::count_if(problem.parents.begin(), problem.parents.end(),
                                     [](const LinkParent& parent) { return parent.returned; });
  return static_cast<size_t>(replied) * 2 > problem.parents.size();
}

bool IsCrowded(const NodeProblem& problem) {
  return MeanCandidates(problem) >= kCrowd && MostReply(problem);
}

void FindSiblings(NodeProblem& problem, std::span<const uint32_t> request_of) {
  problem.siblings.clear();
  std::vector<uint32_t> order(problem.parents.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto request = [&](uint32_t i) { return request_of[problem.parents[i].call]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return request(a) < request(b); });
  for (size_t from = 0, to = 0; from < order.size(); from = to) {
    while (to < order.size() && request(order[to]) == request(order[from])) ++to;
    if (to - from < 2) continue;
    const auto first = static_cast<uint32_t>(problem.siblings.size());
    uint32_t first_reply = order[from], last_reply = order[from];
    for (size_t i = from; i < to; ++i) {
      LinkParent& parent = problem.parents[order[i]];
      parent.first_sibling = first;
      parent.sibling_count = static_cast<uint32_t>(to - from);
      problem.siblings.push_back(order[i]);
      if (parent.replied < problem.parents[first_reply].replied) first_reply = order[i];
      if (parent.replied >= problem.parents[last_reply].replied) last_reply = order[i];
    }
    problem.parents[order[from]].standing |= kFirstToArrive;
    problem.parents[order[to - 1]].standing |= kLastToArrive;
    problem.parents[first_reply].standing |= kFirstToReply;
    problem.parents[last_reply].standing |= kLastToReply;
  }
}

NodeProblem CutOf(const NodeProblem& problem, std::span<const ChildRange> ranges) {
  NodeProblem cut;
  cut.parent_kinds = problem.parent_kinds;
  cut.child_kinds = problem.child_kinds;
  cut.slack = problem.slack;
  cut.late = problem.late;
  cut.latest = problem.latest;
  cut.longest = problem.longest;
  std::vector<uint32_t> was;  // per parent: its number in the problem, rising
  size_t next = 0;            // parent
  for (const ChildRange& range : ranges) {
    const Nanos begin = problem.children[range.from].sent;
    const Nanos end = problem.children[range.to - 1].sent;
    for (size_t i = range.from; i < range.to; ++i) cut.children.push_back(problem.children[i]);
    // A parent that opened earlier than the longest call lasts is no longer possible.
    const Nanos earliest = begin - problem.longest - problem.latest - 2 * problem.slack;
    const auto first = std::lower_bound(
        problem.parents.begin() + static_cast<std::ptrdiff_t>(next), problem.parents.end(),
        earliest, [](const LinkParent& p, Nanos time) { return p.opened < time; });
    next = static_cast<size_t>(first - problem.parents.begin());
    for (; next < problem.parents.size() && problem.parents[next].opened <= end + problem.slack;
         ++next) {
      if (problem.ClosesAt(problem.parents[next]) + problem.latest < begin) continue;
      was.push_back(static_cast<uint32_t>(next));
      cut.parents.push_back(problem.parents[next]);
      cut.parents.back().whole = (range.from == 0 || problem.parents[next].opened >= begin) &&
                                 (range.to == problem.children.size() ||
                                  problem.ClosesAt(problem.parents[next]) + problem.latest <= end);
    }
  }
  for (LinkParent& parent : cut.parents) {
    const auto first = static_cast<uint32_t>(cut.siblings.size());
    for (uint32_t i = 0; i < parent.sibling_count; ++i) {
      const uint32_t sibling = problem.siblings[parent.first_sibling + i];
      const auto at = std::lower_bound(was.begin(), was.end(), sibling);
      if (at != was.end() && *at == sibling)
        cut.siblings.push_back(static_cast<uint32_t>(at - was.begin()));
    }
    parent.first_sibling = first;
    parent.sibling_count = static_cast<uint32_t>(cut.siblings.size()) - first;
  }
  FindCandidates(cut);
  return cut;
}

NodeProblem SampleOf(const NodeProblem& problem, size_t children, size_t stretches) {
  const size_t each = children / stretches, all = problem.children.size();
  std::vector<ChildRange> ranges;
  for (size_t s = 0; s < stretches; ++s) {
    const size_t from = all * (2 * s + 1) / (2 * stretches) - each / 2;
    ranges.push_back({from, from + each});
  }
  return CutOf(problem, ranges);
}

}  // namespace wf::paths
