// The traffic of M1: two services that answer requests, hosts that chatter, and, unless it is absent, the culprit's
// bursts. One thread drives all sockets of all hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "scenario/fat_tree.h"
#include "scenario/scenario.h"

namespace wf::scenario {

// What a payload says about itself, so that packets seen in the network can be identified: 16 bytes before
// the padding.
struct TrafficTag {
  uint32_t kind = 0;  // of TrafficKind
  uint32_t number = 0, part = 0;
  bool operator<(const TrafficTag& o) const {
    return std::tie(kind, number, part) < std::tie(o.kind, o.number, o.part);
  }
};
enum TrafficKind : uint32_t { kRequestPacket, kResponsePacket, kCulpritPacket, kChatterPacket };
std::optional<TrafficTag> ReadTag(std::string_view payload);

constexpr uint32_t kResponseParts = 8;

// One request of a service, as its host and its server saw it. A time is 0 if the request did not get that
// far.
struct ServiceRequest {
  uint32_t number = 0;
  int service = 0;    // 0 or 1
  bool late = false;  // in the second part of the run, when the culprit is active
  Nanos sent = 0, served = 0, answered = 0, received = 0;
  uint32_t parts = 0;
};

struct TrafficPlan {
  struct Send {
    Nanos at = 0;  // since the beginning
    TrafficTag tag;
    size_t from = 0, to = 0;  // hosts
    uint32_t bytes = 0;
  };
  std::vector<Send> sends;  // in order of time; responses are triggered by requests
  std::vector<ServiceRequest> requests;
  size_t clients[2] = {}, servers[2] = {}, culprit = 0, culprit_sink = 0;
};

TrafficPlan PlanTraffic(const FatTree& tree, uint64_t seed, Fault fault);
// The flow of the culprit's packets, whether it sends or not.
pcap::FiveTuple CulpritFlow(const FatTree& tree, const TrafficPlan& plan);

// Runs it; fills in the times of plan.requests.
Status RunTraffic(const FatTree& tree, const NetworkNamespaces& network, TrafficPlan& plan);

}  // namespace wf::scenario
