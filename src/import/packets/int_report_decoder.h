// Decodes telemetry reports. Reads nothing beyond the bytes given; views in the result point into them. Pure
// functions; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/packets/int_report.h"

namespace wf::packets {

// True if the datagram begins with version 2 and is long enough for a report. Users choose the ports, so
// nothing else distinguishes reports from other datagrams.
bool LooksLikeIntReports(std::string_view datagram);

// The payload of a UDP datagram. Reports before a malformed one stay in `out`.
Status DecodeIntReports(std::string_view datagram, IntGroup& out);

// Fields of one hop in the order of `bits`, then `domain_bytes` of domain specific metadata; a stack's
// checksum complement follows. `bytes` holds all of them.
IntMetadata DecodeIntMetadata(IntPlace place, uint16_t bits, std::string_view bytes);

}  // namespace wf::packets
