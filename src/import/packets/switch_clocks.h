// Clocks of switches. INT stamps are "device local time": two switches may disagree, and then a packet seems to arrive
// before it left. Where packets tell the order of their hops (a stack does), each pair of neighbours says how much the later
// one's clock must be put forward at least; the least shifts that satisfy all of them are found by longest paths from zero
// (Bellman and Ford). Clocks that agree are not moved, nor are those whose pairs contradict each other (a drift): then links that
// cannot be are left out and counted (packet_events.h).
#pragma once

#include <map>
#include <string>

#include "import/packets/queue_passage.h"

namespace wf {

// Moves the passages' times; which switch was moved by how much. Passages of one packet lie together, in order of position.
std::map<std::string, Nanos> AlignSwitchClocks(PacketPassages& passages);

}  // namespace wf
