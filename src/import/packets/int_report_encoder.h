// Telemetry reports to bytes: what a switch would send. For tests, scenarios and whoever has no P4 switch.
// Pure functions; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "import/packets/int_report.h"

namespace wf::packets {

// The payload of a UDP datagram. A value that is absent though its bit is set is written as all ones. Of each report
// the inner contents are written as inner_type says: tlvs, extension or packet; padded to whole words.
// Refused: a report of more than 255 words.
Result<std::string> EncodeIntReports(const IntGroup& group);

// A packet with an INT-MD stack put in as a UDP datagram of its own before `transport` (next protocol type 2): what
// a sink reports. `ip` is the packet's IP header, made longer and of protocol UDP; `port` marks INT in this network.
std::string EncodeIntOverUdp(const pcap::PacketHeaders& headers, const IntStack& stack,
                             uint16_t port);

void EncodeIntMetadata(const IntMetadata& metadata, IntPlace place, std::string& out);

}  // namespace wf::packets
