// Passages through queues → provenance events (Zeno §6, the Mininet front end).
//
// A packet at a queue is one event: DRV at the switch, named after the packet's flow, which is also its origin. It is
// ready when the packet came into the switch, starts when the packet before it had left (or at once), ends when it left,
// and holds the queue meanwhile; so whoever waited can be told from whoever it waited for. Its cause is the packet's event at the
// queue before. The first has a cause too: the packet's entry, an INS at the sending host that takes no time and holds
// nothing, because an explanation begins where its first event starts, and the wait in the first queue must lie behind
// that. Time on a wire, from one egress to the next ingress, lies between two events and belongs to the later.
#pragma once

#include <string>
#include <vector>

#include "import/packets/queue_passage.h"
#include "model/provenance_event.h"

namespace wf::packets {

// Where a packet's events are among the others.
struct PacketTrail {
  Hash128 packet;
  uint32_t flow = 0;
  std::string entry, exit;  // ids of its first and last event
};

struct PacketEvents {
  std::vector<ProvenanceEvent> events;  // in the order of the contract: start, then end
  std::vector<PacketTrail> trails;      // in the order of their entry
};

// Counts into `passages` and orders them. Counted: duplicates (the same passage told twice), not_fifo (packets that
// were overtaken in their queue), chain_breaks (a hop that cannot have followed the one before it: it begins anew).
PacketEvents MakePacketEvents(PacketPassages& passages);

}  // namespace wf::packets
