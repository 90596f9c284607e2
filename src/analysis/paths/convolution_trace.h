// The messages of a trace by directed edge (sender, receiver): the per-edge traces of Aguilera et al. §5.2.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/paths/convolution_messages.h"

namespace wf::paths {

struct TraceEdge {
  NodeId sender = 0, receiver = 0;
  std::vector<uint32_t> messages;  // in the order they left
};

struct EdgeTrace {
  std::vector<PathMessage> messages;
  std::vector<TraceEdge> edges;                   // by sender, then receiver
  std::vector<std::vector<uint32_t>> out;         // of each node, its edges
  std::vector<bool> receives, receives_requests;  // of each node: anything; a CALL or MSG
  Nanos first_ns = 0, last_ns = 0;

  // A node that receives no CALL or MSG: nothing that was seen causes what it sends.
  bool IsSource(NodeId node) const { return !out[node].empty() && !receives_requests[node]; }
};

// `nodes`: the number of nodes.
EdgeTrace SplitByEdge(std::vector<PathMessage> messages, size_t nodes);

// The message ids sorted by when they arrived.
void SortByArrival(const EdgeTrace& trace, std::vector<uint32_t>& messages);

}  // namespace wf::paths
