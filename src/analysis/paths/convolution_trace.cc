#include "analysis/paths/convolution_trace.h"

#include <algorithm>
#include <map>

namespace wf::paths {

EdgeTrace SplitByEdge(std::vector<PathMessage> messages, size_t nodes) {
  EdgeTrace trace;
  trace.messages = std::move(messages);
  trace.out.resize(nodes);
  trace.receives.resize(nodes);
  trace.receives_requests.resize(nodes);
  if (trace.messages.empty()) return trace;
  trace.first_ns = trace.last_ns = trace.messages.front().sent_ns;
  std::map<std::pair<NodeId, NodeId>, std::vector<uint32_t>> by_ends;
  for (uint32_t i = 0; i < trace.messages.size(); ++i) {
    const PathMessage& message = trace.messages[i];
    by_ends[{message.sender, message.receiver}].push_back(i);
    trace.receives[message.receiver] = true;
    if (message.kind != MessageKind::kReturn) trace.receives_requests[message.receiver] = true;
    trace.first_ns = std::min({trace.first_ns, message.sent_ns, message.received_ns});
    trace.last_ns = std::max({trace.last_ns, message.sent_ns, message.received_ns});
  }
  for (auto& [ends, ids] : by_ends) {
    trace.out[ends.first].push_back(static_cast<uint32_t>(trace.edges.size()));
    trace.edges.push_back({ends.first, ends.second, std::move(ids)});
  }
  return trace;
}

void SortByArrival(const EdgeTrace& trace, std::vector<uint32_t>& messages) {
  std::sort(messages.begin(), messages.end(), [&](uint32_t a, uint32_t b) {
    const Nanos at_a = trace.messages[a].received_ns, at_b = trace.messages[b].received_ns;
    return at_a != at_b ? at_a < at_b : a < b;
  });
}

}  // namespace wf::paths
