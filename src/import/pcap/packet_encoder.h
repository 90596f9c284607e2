// Encodes UDP and TCP packets: for captures that we write, and for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "import/pcap/packet.h"

namespace wf::pcap {

// IPv4 or IPv6, depending on the addresses, with header and checksums; as LinkType::kRawIp.
std::string EncodeUdpPacket(const FiveTuple& flow, uint16_t ip_id, std::string_view payload);

// The same for TCP, without options. `flags`: kTcpSyn ... combined.
std::string EncodeTcpPacket(const FiveTuple& flow, uint32_t sequence, uint32_t acknowledgement,
                            uint8_t flags, std::string_view payload, uint16_t ip_id = 0);

// The header of a Linux cooked capture, version 2, before an IP packet.
std::string CookedHeader2(uint32_t interface, PacketDirection direction, uint8_t ip_version);

}  // namespace wf::pcap
