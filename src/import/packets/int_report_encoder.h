// Encodes telemetry reports as a switch would send them. For tests, scenarios and users without a P4 switch.
// Pure functions; any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "import/packets/int_report.h"

namespace wf::packets {

// The payload of a UDP datagram. A missing value whose bit is set is written as all ones. inner_type selects
// the contents of each report: tlvs, extension or packet, padded to whole words. Rejects a report of more
// than 255 words.
Result<std::string> EncodeIntReports(const IntGroup& group);

// A packet with an INT-MD stack inserted as a separate UDP datagram before `transport` (next protocol type
// 2), as a sink reports it. `ip` is the packet's IP header, with the new length and protocol UDP; `port`
// marks INT in this network.
std::string EncodeIntOverUdp(const pcap::PacketHeaders& headers, const IntStack& stack,
                             uint16_t port);

void EncodeIntMetadata(const IntMetadata& metadata, IntPlace place, std::string& out);

}  // namespace wf::packets
