// Packet: what a capture holds of one packet, and what its headers say. This is independent of the use of the
// packets: import/packets makes events of queues from them, and messages of black boxes come from the same
// reader.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/nanos.h"

namespace wf::pcap {

// How the bytes of a captured packet begin.
enum class LinkType : uint8_t {
  kEthernet,      // LINKTYPE_ETHERNET (1)
  kRawIp,         // LINKTYPE_RAW (101), LINKTYPE_IPV4 (228), LINKTYPE_IPV6 (229)
  kLinuxCooked,   // LINKTYPE_LINUX_SLL (113): captures of "any" interface
  kLinuxCooked2,  // LINKTYPE_LINUX_SLL2 (276): the same, with the interface's number
  kLoopback,      // LINKTYPE_NULL (0), LINKTYPE_LOOP (108): of BSD and macOS, four bytes before IP
};

// As seen by the capturing machine. Only Linux cooked captures show it.
enum class PacketDirection : uint8_t { kUnknown, kIncoming, kOutgoing };

struct IpAddress {
  uint8_t version = 0;                 // 4 or 6; 0: none
  std::array<uint8_t, 16> bytes = {};  // the first four of an IPv4 address
  bool operator==(const IpAddress&) const = default;
};
std::string ToString(const IpAddress& address);
IpAddress Ipv4Address(uint8_t a, uint8_t b, uint8_t c, uint8_t d);

constexpr uint8_t kProtocolIcmp = 1, kProtocolTcp = 6, kProtocolUdp = 17, kProtocolGre = 47,
                  kProtocolIcmp6 = 58;

// TCP's flags (RFC 9293 §3.1), as in its header.
constexpr uint8_t kTcpFin = 0x01, kTcpSyn = 0x02, kTcpRst = 0x04, kTcpPsh = 0x08, kTcpAck = 0x10;

struct FiveTuple {
  IpAddress source, destination;
  uint16_t source_port = 0, destination_port = 0;  // 0 where the protocol has none
  uint8_t protocol = 0;
  bool operator==(const FiveTuple&) const = default;
};
// "udp:10.0.0.1:53-10.0.0.2:4242", "tcp:[fd00::1]:80-[fd00::2]:9", "icmp:10.0.0.1-10.0.0.2". It has no blank,
// slash, parenthesis or equals sign, so that it can be a tuple's name and be used in --what-if.
std::string FlowName(const FiveTuple& flow);

// One packet as captured. The bytes belong to the reader, until its next call.
struct CapturedPacket {
  Nanos time_ns = 0;
  LinkType link = LinkType::kEthernet;
  uint32_t wire_length = 0;  // of the packet on the link; bytes may be fewer
  std::string_view bytes;
};

// What the headers say. Views point into the captured bytes.
struct PacketHeaders {
  uint32_t interface = 0;  // 0: unknown
  PacketDirection direction = PacketDirection::kUnknown;
  FiveTuple flow;
  uint32_t ip_id = 0;  // IPv4's identification, or that of IPv6's fragment header; 0: none
  uint8_t traffic_class = 0;
  bool fragment = false;         // one of several
  bool more_fragments = false;   // not the last one
  uint16_t fragment_offset = 0;  // in bytes; above 0 there are no ports
  uint8_t tcp_flags = 0;
  uint32_t tcp_sequence = 0, tcp_acknowledgement = 0;
  uint16_t checksum = 0;          // of TCP or UDP
  uint32_t transport_length = 0;  // after the IP headers, as IP's length says
  uint32_t payload_length = 0;    // after all headers
  std::string_view network;       // IP header included, link padding not
  std::string_view transport;     // after the IP headers
  std::string_view payload;       // after TCP's or UDP's header, as far as captured
};

}  // namespace wf::pcap
