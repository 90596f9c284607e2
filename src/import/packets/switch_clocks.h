// Clocks of switches. INT stamps are "device local time": two switches may disagree, and then a packet seems
// to arrive before it left. Where packets show the order of their hops (a stack does), each pair of
// neighbours gives a lower bound for how far the later one's clock must be moved forward. Longest paths from
// zero (Bellman and Ford) give the smallest shifts that satisfy all bounds. Clocks that agree are not moved,
// nor are those whose pairs contradict each other (drift): then impossible links are left out and counted
// (packet_events.h).
//
// Bellman and Ford need as many steps as there are switches times pairs of neighbours. Real networks need far
// fewer, because only the pairs after a clock that moved are checked again; but reports may be forged, with a
// new switch in each. So the steps are limited, and beyond the limit no clock is moved.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "import/packets/queue_passage.h"

namespace wf::packets {

// About a second at most. It suffices for 2,000 switches with 16 neighbours each, however wrong their clocks
// are.
constexpr int64_t kMostClockSteps = 64'000'000;

// Moves the passages' times; returns by how much each switch was moved. Passages of one packet are adjacent,
// in order of position. Counts clocks_contradict, and clocks_unsettled if `most_steps` did not suffice.
std::map<std::string, Nanos> AlignSwitchClocks(PacketPassages& passages,
                                               int64_t most_steps = kMostClockSteps);

}  // namespace wf::packets
