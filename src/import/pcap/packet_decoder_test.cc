#include "import/pcap/packet_decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "import/pcap/byte_order.h"
#include "import/pcap/packet_encoder.h"

namespace wf::pcap {
namespace {

std::string Hex(std::string_view text) {
  std::string bytes, digits;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    digits.push_back(c);
    if (digits.size() < 2) continue;
    bytes.push_back(static_cast<char>(std::stoi(digits, nullptr, 16)));
    digits.clear();
  }
  return bytes;
}

// 10.0.0.1:4096 → 10.0.0.2:53, IP id 0x1234, payload "hi!".
const char* const kUdp4 =
    "4500001f 12340000 40115b97 0a000001 0a000002"
    "10000035 000b0000 686921";
const char* const kEthernet = "0202020202020101010101 01";

TEST(PacketDecoder, EthernetIpv4Udp) {
  PacketHeaders h;
  const std::string bytes = Hex(kEthernet) + Hex("0800") + Hex(kUdp4);
  ASSERT_EQ(DecodePacket(LinkType::kEthernet, bytes, h), PacketFault::kNone);
  EXPECT_EQ(FlowName(h.flow), "udp:10.0.0.1:4096-10.0.0.2:53");
  EXPECT_EQ(h.ip_id, 0x1234u);
  EXPECT_EQ(h.payload, "hi!");
  EXPECT_EQ(h.payload_length, 3u);
  EXPECT_FALSE(h.fragment);
  EXPECT_EQ(h.direction, PacketDirection::kUnknown);
}

TEST(PacketDecoder, EthernetPaddingIsNoPayload) {
  PacketHeaders h;
  const std::string bytes = Hex(kEthernet) + Hex("0800") + Hex(kUdp4) + std::string(15, '\0');
  ASSERT_EQ(DecodePacket(LinkType::kEthernet, bytes, h), PacketFault::kNone);
  EXPECT_EQ(h.payload, "hi!");
}

TEST(PacketDecoder, VlanTagsAreWalkedOver) {
  PacketHeaders h;
  std::string bytes = Hex(kEthernet) + Hex("88a8 0064 8100 0007 0800") + Hex(kUdp4);
  ASSERT_EQ(DecodePacket(LinkType::kEthernet, bytes, h), PacketFault::kNone);
  EXPECT_EQ(h.flow.destination_port, 53);
  bytes = Hex(kEthernet);
  for (int i = 0; i < 40; ++i) bytes += Hex("8100 0001");
  EXPECT_EQ(DecodePacket(LinkType::kEthernet, bytes, h), PacketFault::kMalformed);
}

TEST(PacketDecoder, LinuxCookedTellsDirectionAndInterface) {
  PacketHeaders h;
  // Version 1: packet type, ARPHRD, address length, address, protocol.
  std::string bytes = Hex("0004 0001 0006 020202020202 0000 0800") + Hex(kUdp4);
  ASSERT_EQ(DecodePacket(LinkType::kLinuxCooked, bytes, h), PacketFault::kNone);
  EXPECT_EQ(h.direction, PacketDirection::kOutgoing);
  EXPECT_EQ(h.payload, "hi!");
  // Version 2: protocol, reserved, interface, ARPHRD, packet type, address length, address.
  bytes = Hex("0800 0000 00000007 0001 00 06 0202020202020000") + Hex(kUdp4);
  ASSERT_EQ(DecodePacket(LinkType::kLinuxCooked2, bytes, h), PacketFault::kNone);
  EXPECT_EQ(h.direction, PacketDirection::kIncoming);
  EXPECT_EQ(h.interface, 7u);
  EXPECT_EQ(h.payload, "hi!");
  EXPECT_EQ(CookedHeader2(7, PacketDirection::kOutgoing, 4),
            Hex("0800 0000 00000007 0001 04 00 0000000000000000"));
}

TEST(PacketDecoder, LoopbackOfBsdHasFourBytesBeforeIp) {
  PacketHeaders h;
  const std::string bytes = Hex("02000000") + Hex(kUdp4);
  ASSERT_EQ(DecodePacket(LinkType::kLoopback, bytes, h), PacketFault::kNone);
  EXPECT_EQ(h.payload, "hi!");
  EXPECT_EQ(DecodePacket(LinkType::kLoopback, "abc", h), PacketFault::kTruncated);
}

TEST(PacketDecoder, TcpOverIpv6BehindExtensionHeaders) {
  PacketHeaders h;
  const std::string bytes =
      Hex("60000000 0020 00 40"  // next: hop-by-hop
          "fd000000000000000000000000000001 fd000000000000000000000000000002"
          "06 00 0502000001 00"  // 8 bytes of options, next: TCP
          "01bb 2710 00000064 000000c8 5018 0200 abcd 0000"
          "61626364");
  ASSERT_EQ(DecodePacket(LinkType::kRawIp, bytes, h), PacketFault::kNone);
  EXPECT_EQ(FlowName(h.flow), "tcp:[fd00::1]:443-[fd00::2]:10000");
  EXPECT_EQ(h.tcp_sequence, 100u);
  EXPECT_EQ(h.tcp_acknowledgement, 200u);
  EXPECT_EQ(h.tcp_flags, 0x18);
  EXPECT_EQ(h.checksum, 0xabcd);
  EXPECT_EQ(h.payload, "abcd");
  EXPECT_EQ(h.payload_length, 4u);
}

TEST(PacketDecoder, FragmentsTellTheirPlace) {
  PacketHeaders h;
  std::string bytes = Hex("4500001c 00072000 40110000 0a000001 0a000002 10000035 00200000");
  ASSERT_EQ(DecodePacket(LinkType::kRawIp, bytes, h), PacketFault::kNone);
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.fragment_offset, 0);
  EXPECT_EQ(h.flow.source_port, 4096);
  bytes = Hex("4500001c 00070001 40110000 0a000001 0a000002 6161616161616161");
  ASSERT_EQ(DecodePacket(LinkType::kRawIp, bytes, h), PacketFault::kNone);
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.fragment_offset, 8);
  EXPECT_EQ(h.flow.source_port, 0);
  EXPECT_EQ(h.payload, "aaaaaaaa");
  // IPv6: next header, reserved, offset and flag, identification.
  bytes =
      Hex("60000000 0010 2c 40 fd000000000000000000000000000001 fd000000000000000000000000000002"
          "11 00 0009 00bc614e 6161616161616161");
  ASSERT_EQ(DecodePacket(LinkType::kRawIp, bytes, h), PacketFault::kNone);
  EXPECT_TRUE(h.fragment);
  EXPECT_EQ(h.fragment_offset, 8);
  EXPECT_EQ(h.ip_id, 12345678u);
  EXPECT_EQ(h.flow.protocol, kProtocolUdp);
}

TEST(PacketDecoder, FaultsAreNamed) {
  PacketHeaders h;
  EXPECT_EQ(DecodePacket(LinkType::kEthernet, "short", h), PacketFault::kTruncated);
  EXPECT_EQ(DecodePacket(LinkType::kEthernet, Hex(kEthernet) + Hex("0806 0001"), h),
            PacketFault::kNotIp);
  EXPECT_EQ(DecodePacket(LinkType::kRawIp, "", h), PacketFault::kTruncated);
  EXPECT_EQ(DecodePacket(LinkType::kRawIp, Hex(kUdp4).substr(0, 24), h), PacketFault::kTruncated);
  EXPECT_EQ(h.flow.source, Ipv4Address(10, 0, 0, 1)) << "what could be read stays";
  std::string bytes = Hex(kUdp4);
  bytes[0] = 0x42;  // a header of eight bytes
  EXPECT_EQ(DecodePacket(LinkType::kRawIp, bytes, h), PacketFault::kMalformed);
  EXPECT_EQ(PacketFaultName(PacketFault::kNotIp), "not_ip");
}

TEST(PacketDecoder, WhatIsEncodedIsDecoded) {
  const bool holds =
      rc::check([](uint16_t from, uint16_t to, uint16_t id, const std::string& payload) {
        FiveTuple flow;
        const bool six = id % 2 == 1;
        flow.source = Ipv4Address(10, 1, static_cast<uint8_t>(from), 2);
        flow.destination = Ipv4Address(10, 2, static_cast<uint8_t>(to), 2);
        if (six) flow.source.version = flow.destination.version = 6;
        flow.source_port = from;
        flow.destination_port = to;
        flow.protocol = kProtocolUdp;
        const std::string bytes = EncodeUdpPacket(flow, id, payload);
        PacketHeaders h;
        RC_ASSERT(DecodePacket(LinkType::kRawIp, bytes, h) == PacketFault::kNone);
        RC_ASSERT(h.flow == flow);
        RC_ASSERT(h.payload == payload);
        RC_ASSERT(h.ip_id == (six ? 0 : id));
        RC_ASSERT(h.checksum != 0);
      });
  EXPECT_TRUE(holds);
}

// The checksum of a packet whose checksums are in place is zero.
TEST(PacketEncoder, ChecksumsAreRight) {
  FiveTuple flow{Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 2), 4096, 53, kProtocolUdp};
  const std::string bytes = EncodeUdpPacket(flow, 0x1234, "hi!");
  const auto fold = [](uint32_t sum) {
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum;
  };
  uint32_t sum = 0;
  for (size_t i = 0; i < 20; i += 2) sum += Read16(bytes, i);
  EXPECT_EQ(fold(sum), 0xffffu);
  sum = kProtocolUdp + 11;
  for (size_t i = 12; i < 20; i += 2) sum += Read16(bytes, i);
  const std::string udp = bytes.substr(20) + std::string(1, '\0');
  for (size_t i = 0; i < udp.size(); i += 2) sum += Read16(udp, i);
  EXPECT_EQ(fold(sum), 0xffffu);
}

// Sums that include a right checksum come to nothing (RFC 1071).
bool ChecksumHolds(const PacketHeaders& h) {
  uint64_t sum = h.flow.protocol + h.transport.size();
  const size_t size = h.flow.source.version == 4 ? 4 : 16;
  for (const IpAddress* address : {&h.flow.source, &h.flow.destination}) {
    for (size_t i = 0; i < size; ++i) sum += uint64_t{address->bytes[i]} << (i % 2 == 0 ? 8 : 0);
  }
  for (size_t i = 0; i < h.transport.size(); ++i)
    sum += uint64_t{Read8(h.transport, i)} << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

TEST(PacketDecoder, ReadsWhatTheTcpEncoderWrites) {
  EXPECT_TRUE(rc::check([](uint32_t sequence, uint32_t acknowledgement, uint16_t port,
                           uint16_t ip_id, const std::string& payload) {
    FiveTuple flow;
    flow.protocol = kProtocolTcp;
    flow.source_port = port;
    flow.destination_port = 80;
    for (const uint8_t version : {4, 6}) {
      flow.source = flow.destination = IpAddress{};
      flow.source.version = flow.destination.version = version;
      flow.source.bytes[0] = 10;
      flow.destination.bytes[1] = 11;
      const std::string bytes =
          EncodeTcpPacket(flow, sequence, acknowledgement, kTcpPsh | kTcpAck, payload, ip_id);
      PacketHeaders h;
      RC_ASSERT(DecodePacket(LinkType::kRawIp, bytes, h) == PacketFault::kNone);
      RC_ASSERT(h.flow == flow);
      RC_ASSERT(h.tcp_sequence == sequence);
      RC_ASSERT(h.tcp_acknowledgement == acknowledgement);
      RC_ASSERT(h.tcp_flags == (kTcpPsh | kTcpAck));
      RC_ASSERT(h.payload == payload);
      RC_ASSERT(h.payload_length == payload.size());
      RC_ASSERT(ChecksumHolds(h));
    }
  }));
}

}  // namespace
}  // namespace wf::pcap
