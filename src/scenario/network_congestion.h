// M1 (Zeno §7.1): two cloud services become slow because a flow of a third party congests the network. This
// is not simulated, but uses namespaces, veth pairs, token buckets and sockets of this kernel, in real time.
// So the same seed gives the same traffic, but times depend on the machine.
#pragma once

#include <string>

#include "base/result.h"
#include "scenario/scenario.h"

namespace wf::scenario {

constexpr ScenarioDescription kNetworkCongestion = {
    "M1", "services on a real network of namespaces, slow behind another flow's bursts"};

struct NetworkCongestionOptions {
  uint64_t seed = 1;
  int64_t hosts = 16;  // 16: 20 switches; less than 8: 5 switches and 4 hosts
  Fault fault = Fault::kOn;
};

struct NetworkCongestion {
  std::string events;  // JSON lines for `explain --events`
  std::string query;   // query.json
  int64_t requests = 0, event_lines = 0, packets = 0, switches = 0, hosts = 0;
};

// kEnvironment if this machine does not permit real namespaces.
Result<NetworkCongestion> RunNetworkCongestion(const NetworkCongestionOptions& options);

// Runs it and writes events.jsonl and query.json into `folder`, created if missing. Each file appears only
// when it is complete.
Result<ScenarioFiles> WriteNetworkCongestion(const NetworkCongestionOptions& options,
                                             const std::string& folder);

}  // namespace wf::scenario
