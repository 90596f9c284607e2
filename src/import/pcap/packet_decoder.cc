#include "import/pcap/packet_decoder.h"

#include <algorithm>
#include <cstring>

#include "import/pcap/byte_order.h"

namespace wf::pcap {
namespace {

constexpr uint16_t kEtherIpv4 = 0x0800, kEtherIpv6 = 0x86dd;
constexpr uint16_t kEtherVlan = 0x8100, kEtherServiceVlan = 0x88a8, kEtherOldVlan = 0x9100;
// A frame with more tags than this is made to be one: two are in use, providers' tunnels have three.
constexpr int kMostVlanTags = 4;
// IPv6 extension headers that we walk over; real packets have one or two.
constexpr int kMostExtensions = 8;
constexpr uint8_t kPacketOutgoing = 4;  // PACKET_OUTGOING of <linux/if_packet.h>

PacketDirection DirectionOf(uint8_t packet_type) {
  return packet_type == kPacketOutgoing ? PacketDirection::kOutgoing : PacketDirection::kIncoming;
}

// The EtherType at `at`, tags walked over; `at` then stands behind it.
PacketFault SkipVlanTags(std::string_view bytes, size_t& at, uint16_t& type) {
  for (int tags = 0; type == kEtherVlan || type == kEtherServiceVlan || type == kEtherOldVlan;
       ++tags) {
    if (tags == kMostVlanTags) return PacketFault::kMalformed;
    if (bytes.size() < at + 4) return PacketFault::kTruncated;
    type = Read16(bytes, at + 2);
    at += 4;
  }
  return PacketFault::kNone;
}

// Where the IP header begins.
PacketFault SkipLink(LinkType link, std::string_view bytes, PacketHeaders& out, size_t& at) {
  uint16_t type = 0;
  switch (link) {
    case LinkType::kRawIp:
      at = 0;
      return PacketFault::kNone;
    case LinkType::kLoopback:
      if (bytes.size() < 4) return PacketFault::kTruncated;
      at = 4;
      return PacketFault::kNone;
    case LinkType::kEthernet:
      if (bytes.size() < 14) return PacketFault::kTruncated;
      type = Read16(bytes, 12);
      at = 14;
      break;
    case LinkType::kLinuxCooked:
      if (bytes.size() < 16) return PacketFault::kTruncated;
      out.direction = DirectionOf(Read8(bytes, 1));
      type = Read16(bytes, 14);
      at = 16;
      break;
    case LinkType::kLinuxCooked2:
      if (bytes.size() < 20) return PacketFault::kTruncated;
      type = Read16(bytes, 0);
      out.interface = Read32(bytes, 4);
      out.direction = DirectionOf(Read8(bytes, 10));
      at = 20;
      break;
  }
  if (const PacketFault fault = SkipVlanTags(bytes, at, type); fault != PacketFault::kNone)
    return fault;
  return type == kEtherIpv4 || type == kEtherIpv6 ? PacketFault::kNone : PacketFault::kNotIp;
}

IpAddress AddressAt(std::string_view bytes, size_t at, uint8_t version) {
  IpAddress address;
  address.version = version;
  std::memcpy(address.bytes.data(), bytes.data() + at, version == 4 ? 4 : 16);
  return address;
}

// Cuts `network` to the length IP gives. 0 means "too long to say" where the sender segments in hardware.
void CutToLength(size_t length, size_t header, PacketHeaders& out) {
  if (length >= header) out.network = out.network.substr(0, length);
  out.payload_length = static_cast<uint32_t>(std::max(length, header) - header);
  if (length == 0) out.payload_length = static_cast<uint32_t>(out.network.size() - header);
}

PacketFault DecodeIpv4(PacketHeaders& out) {
  const std::string_view ip = out.network;
  if (ip.size() < 20) return PacketFault::kTruncated;
  const size_t header = static_cast<size_t>(Read8(ip, 0) & 0x0f) * 4;
  if (header < 20) return PacketFault::kMalformed;
  out.traffic_class = Read8(ip, 1);
  const size_t length = Read16(ip, 2);
  out.ip_id = Read16(ip, 4);
  const uint16_t fragment = Read16(ip, 6);
  out.fragment_offset = static_cast<uint16_t>((fragment & 0x1fff) * 8);
  out.more_fragments = (fragment & 0x2000) != 0;
  out.fragment = out.more_fragments || out.fragment_offset != 0;
  out.flow.protocol = Read8(ip, 9);
  out.flow.source = AddressAt(ip, 12, 4);
  out.flow.destination = AddressAt(ip, 16, 4);
  if (ip.size() < header) return PacketFault::kTruncated;
  if (length != 0 && length < header) return PacketFault::kMalformed;
  CutToLength(length, header, out);
  out.transport = out.network.substr(header);
  return PacketFault::kNone;
}

// RFC 8200 §4.
PacketFault DecodeIpv6(PacketHeaders& out) {
  const std::string_view ip = out.network;
  if (ip.size() < 40) return PacketFault::kTruncated;
  out.traffic_class = static_cast<uint8_t>(Read16(ip, 0) >> 4);
  const size_t length = Read16(ip, 4);
  out.flow.source = AddressAt(ip, 8, 6);
  out.flow.destination = AddressAt(ip, 24, 6);
  uint8_t next = Read8(ip, 6);
  if (length != 0) out.network = out.network.substr(0, length + 40);
  out.payload_length = static_cast<uint32_t>(length != 0 ? length : out.network.size() - 40);
  size_t at = 40;
  for (int walked = 0;; ++walked) {
    const bool options = next == 0 || next == 43 || next == 60 || next == 51;
    if (!options && next != 44) break;
    if (walked == kMostExtensions) return PacketFault::kMalformed;
    if (out.network.size() < at + 8) return PacketFault::kTruncated;
    size_t size = 8;
    if (next == 44) {
      const uint16_t fragment = Read16(out.network, at + 2);
      out.fragment_offset = fragment & 0xfff8;
      out.more_fragments = (fragment & 1) != 0;
      out.fragment = out.more_fragments || out.fragment_offset != 0;
      out.ip_id = Read32(out.network, at + 4);
    } else if (next == 51) {  // authentication: counted in words, less two
      size = (Read8(out.network, at + 1) + 2u) * 4;
    } else {
      size = (Read8(out.network, at + 1) + 1u) * 8;
    }
    next = Read8(out.network, at);
    if (out.network.size() < at + size) return PacketFault::kTruncated;
    at += size;
    out.payload_length -= static_cast<uint32_t>(std::min<size_t>(size, out.payload_length));
    if (out.fragment_offset != 0) break;  // what follows is the middle of something
  }
  out.flow.protocol = next;
  out.transport = out.network.substr(at);
  return PacketFault::kNone;
}

}  // namespace

std::string_view PacketFaultName(PacketFault fault) {
  switch (fault) {
    case PacketFault::kNone:
      return "none";
    case PacketFault::kNotIp:
      return "not_ip";
    case PacketFault::kTruncated:
      return "truncated_packets";
    case PacketFault::kMalformed:
      return "malformed_packets";
  }
  return "none";
}

PacketFault DecodeTransport(PacketHeaders& out) {
  const std::string_view t = out.transport;
  out.payload = t;
  out.payload_length = out.transport_length;
  if (out.fragment_offset != 0) return PacketFault::kNone;
  // A first fragment need not hold all of the header: no fault, it has no ports.
  const PacketFault cut = out.more_fragments ? PacketFault::kNone : PacketFault::kTruncated;
  size_t header = 0;
  if (out.flow.protocol == kProtocolUdp) {
    if (t.size() < 8) return cut;
    out.checksum = Read16(t, 6);
    header = 8;
  } else if (out.flow.protocol == kProtocolTcp) {
    if (t.size() < 20) return cut;
    out.tcp_sequence = Read32(t, 4);
    out.tcp_acknowledgement = Read32(t, 8);
    out.tcp_flags = Read8(t, 13);
    out.checksum = Read16(t, 16);
    header = static_cast<size_t>(Read8(t, 12) >> 4) * 4;
    if (header < 20) return PacketFault::kMalformed;
  } else {
    return PacketFault::kNone;
  }
  out.flow.source_port = Read16(t, 0);
  out.flow.destination_port = Read16(t, 2);
  out.payload = t.substr(std::min(header, t.size()));
  out.payload_length -= static_cast<uint32_t>(std::min<size_t>(header, out.payload_length));
  return PacketFault::kNone;
}

PacketFault DecodePacket(LinkType link, std::string_view bytes, PacketHeaders& out) {
  out = {};
  size_t at = 0;
  if (const PacketFault fault = SkipLink(link, bytes, out, at); fault != PacketFault::kNone)
    return fault;
  out.network = bytes.substr(at);
  if (out.network.empty()) return PacketFault::kTruncated;
  PacketFault fault = PacketFault::kNotIp;
  switch (Read8(out.network, 0) >> 4) {
    case 4:
      fault = DecodeIpv4(out);
      break;
    case 6:
      fault = DecodeIpv6(out);
      break;
    default:
      break;
  }
  out.transport_length = out.payload_length;
  return fault == PacketFault::kNone ? DecodeTransport(out) : fault;
}

}  // namespace wf::pcap
