// A three-tiered fat tree (Zeno §7.1, M1) of switches with static routes and queues: every outgoing port of a
// switch is a token bucket (tbf), so that delay comes only from queues. Links from core to aggregation are
// slow, because flows of all pods meet there.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "import/pcap/packet.h"
#include "scenario/network_namespaces.h"

namespace wf::scenario {

struct FatTreeShape {
  // Of each pod; hosts of each edge.
  int pods = 4, cores = 4, aggregations = 2, edges = 2, hosts = 2;
  int switches() const { return cores + pods * (aggregations + edges); }
};

struct FatTreeHost {
  std::string name;  // h0-1-0: pod, edge, number
  int pod = 0;
  size_t space = 0;
  pcap::IpAddress address;
};

struct FatTree {
  FatTreeShape shape;
  std::vector<FatTreeHost> hosts;  // in the order of their names
  std::vector<size_t> switches;    // namespaces
  std::string core_to_first_edge;  // the core switch that leads to pod 0, edge 0
};

constexpr int kFastBitsPerSecond = 10'000'000;
constexpr int kSlowBitsPerSecond = 1'000'000;

// Declares it to `network` and sets it up.
Result<FatTree> BuildFatTree(const FatTreeShape& shape, NetworkNamespaces& network);

}  // namespace wf::scenario
