// Sightings in time order → messages with the time at either end, the input of convolution.
//
// A message is placed at its receiver by when it arrived and at its sender by when it left, each by that
// node's own clock where it has a sighting: convolution measures how long a node takes, which is a difference
// of two times at one node. `_SENT` and `_RCVD` sightings of equal kind, sender, receiver and id become one
// message.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/sighting.h"

namespace wf::paths {

struct PathMessage {
  Nanos sent_ns = 0, received_ns = 0;
  NodeId sender = 0, receiver = 0;
  MessageKind kind = MessageKind::kMessage;
};

struct PathMessages {
  std::vector<PathMessage> messages;  // in the order they left
  uint64_t duplicates = 0;            // sighted again in another input
  uint64_t retransmissions = 0;       // sighted again in the same one, before the return
};

PathMessages CollectMessages(std::span<const Sighting> sightings);

}  // namespace wf::paths
