// Clocks of switches. INT stamps are "device local time": two switches may disagree, and then a packet seems to arrive
// before it left. Where packets tell the order of their hops (a stack does), each pair of neighbours says how much the
// later one's clock must be put forward at least; the least shifts that satisfy all of them are found by longest paths
// from zero (Bellman and Ford). Clocks that agree are not moved, nor are those whose pairs contradict each other (a
// drift): then links that cannot be are left out and counted (packet_events.h).
//
// Bellman and Ford need as many steps as there are switches times pairs of neighbours. Networks are far from that, because
// only pairs behind a clock that moved are looked at again; but reports may be forged, with a new switch in each. So the
// steps are limited, and beyond the limit no clock is moved.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "import/packets/queue_passage.h"

namespace wf::packets {

// A second or less. 2,000 switches of 16 neighbours each are settled however badly their clocks go.
constexpr int64_t kMostClockSteps = 64'000'000;

// Moves the passages' times; which switch was moved by how much. Passages of one packet lie together, in order of
// position. Counted: clocks_contradict, and clocks_unsettled where `most_steps` did not do.
std::map<std::string, Nanos> AlignSwitchClocks(PacketPassages& passages,
                                               int64_t most_steps = kMostClockSteps);

}  // namespace wf::packets
