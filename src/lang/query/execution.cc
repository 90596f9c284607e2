#include "lang/query/execution.h"

#include <algorithm>
#include <numeric>

namespace wf::query {
namespace {

constexpr std::string_view kDefaults[] = {"host", "time", "procName", "procId", "tracepoint"};

// The smallest index of each connected component, by halving paths.
class Components {
 public:
  explicit Components(size_t size) : parent_(size) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  uint32_t Find(uint32_t at) {
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<uint32_t> parent_;
};

void FindRequests(Execution& execution) {
  const size_t size = execution.events.size();
  Components components(size);
  for (uint32_t i = 0; i < size; ++i)
    for (const uint32_t before : execution.events[i].after) components.Join(i, before);
  execution.request.assign(size, 0);
  execution.request_ids.clear();
  for (uint32_t i = 0; i < size; ++i) {
    const uint32_t root = components.Find(i);
    const std::string& id = execution.events[i].id;
    if (root == i) {  // roots come first: they are the smallest index
      execution.request[i] = static_cast<uint32_t>(execution.request_ids.size());
      execution.request_ids.push_back(id);
      continue;
    }
    execution.request[i] = execution.request[root];
    std::string& least = execution.request_ids[execution.request[i]];
    least = std::min(least, id);
  }
}

}  // namespace

bool IsDefaultVariable(std::string_view name) {
  return std::find(std::begin(kDefaults), std::end(kDefaults), name) != std::end(kDefaults);
}

advice::Value Event::Variable(std::string_view name) const {
  if (name == "host") return host;
  if (name == "time") return time_ns;
  if (name == "procName") return proc;
  if (name == "procId") return pid;
  if (name == "tracepoint") return tracepoint;
  const auto found = variables.find(name);
  return found == variables.end() ? advice::Value() : found->second;
}

bool Arrange(Execution& execution, uint32_t& on_cycle) {
  const size_t size = execution.events.size();
  FindRequests(execution);
  std::vector<uint32_t> waits_for(size);
  std::vector<std::vector<uint32_t>> next(size);
  for (uint32_t i = 0; i < size; ++i) {
    const auto& after = execution.events[i].after;
    waits_for[i] = static_cast<uint32_t>(after.size());
    for (const uint32_t before : after) next[before].push_back(i);
  }
  auto& order = execution.order;
  order.clear();
  order.reserve(size);
  for (uint32_t i = 0; i < size; ++i)
    if (waits_for[i] == 0) order.push_back(i);
  for (size_t at = 0; at < order.size(); ++at)
    for (const uint32_t after : next[order[at]])
      if (--waits_for[after] == 0) order.push_back(after);
  if (order.size() == size) return true;
  // An event that waits for ever may only stand behind a cycle. Going back from it among those that wait, each of
  // which waits for another, must come round.
  std::vector<bool> seen(size);
  uint32_t at = 0;
  while (waits_for[at] == 0) ++at;
  while (!seen[at]) {
    seen[at] = true;
    for (const uint32_t before : execution.events[at].after)
      if (waits_for[before] != 0) {
        at = before;
        break;
      }
  }
  on_cycle = at;
  return false;
}

// A spanning forest in which each event is below the one of its predecessors that comes last in the order. A
// predecessor above that one happened before it, so its edge is implied. Numbers show which event is above
// which: those of a subtree are consecutive.
void DropImpliedEdges(Execution& execution) {
  const size_t size = execution.events.size();
  constexpr uint32_t kNobody = UINT32_MAX;
  std::vector<uint32_t> place(size), parent(size, kNobody), subtree(size, 1);
  for (uint32_t i = 0; i < size; ++i) place[execution.order[i]] = i;
  for (uint32_t i = 0; i < size; ++i) {
    for (const uint32_t before : execution.events[i].after) {
      if (parent[i] == kNobody || place[before] > place[parent[i]]) parent[i] = before;
    }
  }
  for (size_t i = size; i-- > 0;) {
    const uint32_t event = execution.order[i];
    if (parent[event] != kNobody) subtree[parent[event]] += subtree[event];
  }
  std::vector<uint32_t> number(size), next(size);
  uint32_t next_root = 0;
  for (const uint32_t event : execution.order) {
    uint32_t& from = parent[event] != kNobody ? next[parent[event]] : next_root;
    number[event] = from;
    from += subtree[event];
    next[event] = number[event] + 1;
  }
  for (uint32_t i = 0; i < size; ++i) {
    auto& after = execution.events[i].after;
    const uint32_t last = parent[i];
    const auto implied = [&](uint32_t before) {
      return before != last && number[before] <= number[last] &&
             number[last] < number[before] + subtree[before];
    };
    if (after.size() > 1)
      after.erase(std::remove_if(after.begin(), after.end(), implied), after.end());
  }
}

}  // namespace wf::query
