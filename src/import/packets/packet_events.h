// Passages through queues → provenance events (Zeno §6, the Mininet front end).
//
// A packet at a queue is one event: DRV at the switch, named after the packet's flow, which is also its
// origin. It is ready when the packet entered the switch, starts when the previous packet had left (or at
// once), ends when the packet left, and holds the queue meanwhile; so a packet that waits is distinguished
// from the one it waits for. Its cause is the packet's event at the previous queue. The first event has a
// cause too: the packet's entry, an INS at the sending host that takes no time and holds nothing. It is
// needed because an explanation begins where its first event starts, and the wait in the first queue must
// come after that. Time on a wire, from one egress to the next ingress, is between two events and belongs to
// the later.
#pragma once

#include <string>
#include <vector>

#include "import/packets/queue_passage.h"
#include "model/provenance_event.h"

namespace wf::packets {

// The events of one packet among all others.
struct PacketTrail {
  Hash128 packet;
  uint32_t flow = 0;
  std::string entry, exit;  // ids of its first and last event
};

struct PacketEvents {
  std::vector<ProvenanceEvent> events;  // in the order of the contract: start, then end
  std::vector<PacketTrail> trails;      // in the order of their entry
};

// Sorts `passages` and adds to its counts: duplicates (the same passage reported twice), not_fifo (packets
// overtaken in their queue), chain_breaks (a hop that cannot have followed the previous one: the chain starts
// anew).
PacketEvents MakePacketEvents(PacketPassages& passages);

}  // namespace wf::packets
