// Link, IP and TCP or UDP headers of a packet. Input may be hostile: nothing is read beyond the captured
// bytes. Pure function; any thread.
#pragma once

#include <string_view>

#include "import/pcap/packet.h"

namespace wf::pcap {

enum class PacketFault : uint8_t {
  kNone,
  kNotIp,      // ARP, LLDP, …
  kTruncated,  // captured too short to hold its headers
  kMalformed,  // a header contradicts itself
};
std::string_view PacketFaultName(PacketFault fault);  // "not_ip" ...

// Fills `out` as far as possible. A packet of another protocol than TCP and UDP, or a fragment without its
// header, is not a fault: it has no ports.
PacketFault DecodePacket(LinkType link, std::string_view bytes, PacketHeaders& out);

// The part after the IP headers, from `transport` and `transport_length`.
PacketFault DecodeTransport(PacketHeaders& out);

}  // namespace wf::pcap
