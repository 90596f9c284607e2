// Byte layouts as the specifications print them, then our encoder against our decoder.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "import/packets/int_report_decoder.h"
#include "import/packets/packet_builders_test.h"

namespace wf::packets {
namespace {

const char* const kIpv4Tcp =
    "4500 0028 1111 0000 4006 0000 0a000001 0a000002"   // IP
    "0bb8 1770 00000064 000000c8 5010 0200 abcd 0000";  // TCP 3000 → 6000

// Telemetry report specification, "Example with Baseline Metadata and Truncated IPv4".
TEST(IntReport, BaselineMetadataAndTruncatedIpv4) {
  const std::string bytes = Hex("21400007"      // Ver = 2, hw_id = 5, sequence number 7
                                "0000002a"      // node ID
                                "14 0e 02 20"   // INT, IPv4; length 14; MD length 2; F
                                "5000 0000"     // bits 1 and 3; domain 0
                                "0000 0000"     // DSMdBits, DSMdstatus
                                "0003 0009"     // ingress and egress interface
                                "04 000102") +  // queue 4, occupancy 0x102
                            Hex(kIpv4Tcp);
  IntGroup group;
  ASSERT_TRUE(DecodeIntReports(bytes, group).ok());
  EXPECT_EQ(group.hardware_id, 5);
  EXPECT_EQ(group.sequence, 7u);
  EXPECT_EQ(group.node_id, 42u);
  ASSERT_EQ(group.reports.size(), 1u);
  const IntReport& report = group.reports[0];
  EXPECT_TRUE(report.tracked);
  EXPECT_FALSE(report.dropped || report.congested || report.intermediate);
  EXPECT_EQ(report.metadata.ingress_port, 3);
  EXPECT_EQ(report.metadata.egress_port, 9);
  EXPECT_EQ(report.metadata.queue_id, 4);
  EXPECT_EQ(report.metadata.queue_occupancy, 0x102u);
  EXPECT_FALSE(report.metadata.ingress_time);
  ASSERT_TRUE(report.headers);
  EXPECT_EQ(pcap::FlowName(report.headers->flow), "tcp:10.0.0.1:3000-10.0.0.2:6000");
  EXPECT_EQ(report.headers->ip_id, 0x1111u);
  EXPECT_FALSE(report.stack);
}

// "Example with Baseline Metadata, Domain Specific Metadata, DS Extension Data and Truncated IPv4": there the
// metadata length leaves out the domain's word, against the text; both ways are read.
TEST(IntReport, DomainMetadataAndTlvs) {
  const std::string tail = Hex("0003 0009"
                               "00 000005"
                               "d0d1d2d3"  // ports, queue, domain metadata
                               "00 02 0077"
                               "e0e1e2e3 e4e5e6e7"  // TLV 0 of two words, template 0x77
                               "20 0a 0000") +
                           Hex(kIpv4Tcp);  // TLV 2: IPv4 of ten words
  for (const char* metadata_length : {"02", "03"}) {
    const std::string bytes = Hex("20000001 0000002a 11 13") + Hex(metadata_length) +
                              Hex("20  5000 0007  8000 0001") + tail;
    IntGroup group;
    const Status decoded = DecodeIntReports(bytes, group);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    const IntReport& report = group.reports.at(0);
    EXPECT_EQ(report.domain_id, 7);
    EXPECT_EQ(report.domain_bits, 0x8000);
    EXPECT_EQ(report.domain_status, 1);
    EXPECT_EQ(report.metadata.domain, Hex("d0d1d2d3"));
    ASSERT_EQ(report.tlvs.size(), 2u);
    EXPECT_EQ(report.tlvs[0].data_template, 0x77);
    EXPECT_EQ(report.extension, Hex("e0e1e2e3 e4e5e6e7"));
    ASSERT_TRUE(report.headers);
    EXPECT_EQ(report.headers->flow.destination_port, 6000);
  }
}

// "Example with Embedded INT-MD in a TCP Packet": a UDP header of INT's own before TCP.
const char* const kMdInTcp =
    "2000000a 00000003"                                // Ver 2; node ID of switch 3
    "14 17 01 20  1000 0000 0000 0000  00 000033"      // length 23; queue occupancy of switch 3
    "4500 0050 1111 0000 4011 0000 0a000001 0a000002"  // IP
    "c000 1389 003c 0000"                              // UDP to INT's port
    "18 07 0006"                                       // shim: type 1, NPT 2, length 7, TCP
    "20 00 02 06  9000 0000  0000 0000"       // Ver 2, HopML 2, 6 hops left; node id and queue
    "00000002 00 000022  00000001 00 000011"  // hop 2, then hop 1
    "0bb8 1770 00000064 000000c8 5010 0200 abcd 0000";  // TCP

TEST(IntReport, EmbeddedStackInTcp) {
  IntGroup group;
  const std::string bytes = Hex(kMdInTcp);
  ASSERT_TRUE(DecodeIntReports(bytes, group).ok());
  const IntReport& report = group.reports.at(0);
  EXPECT_EQ(report.metadata.queue_occupancy, 0x33u);
  ASSERT_TRUE(report.stack);
  EXPECT_EQ(report.stack->hop_words, 2);
  EXPECT_EQ(report.stack->remaining_hops, 6);
  ASSERT_EQ(report.stack->hops.size(), 2u);
  EXPECT_EQ(report.stack->hops[0].node_id, 2u);
  EXPECT_EQ(report.stack->hops[0].queue_occupancy, 0x22u);
  EXPECT_EQ(report.stack->hops[1].node_id, 1u);
  EXPECT_FALSE(report.stack->cut);
  ASSERT_TRUE(report.headers);
  EXPECT_EQ(pcap::FlowName(report.headers->flow), "tcp:10.0.0.1:3000-10.0.0.2:6000");
  EXPECT_EQ(report.headers->tcp_sequence, 100u);
  EXPECT_EQ(report.headers->checksum, 0xabcd);
}

// Without the flag there is no embedded metadata, whatever the bytes look like.
TEST(IntReport, NoStackIsLookedForWithoutTheTrackedFlag) {
  std::string bytes = Hex(kMdInTcp);
  bytes[11] = 0;
  IntGroup group;
  ASSERT_TRUE(DecodeIntReports(bytes, group).ok());
  EXPECT_FALSE(group.reports.at(0).stack);
  EXPECT_EQ(group.reports.at(0).headers->flow.destination_port, 5001);
}

// "Example with Embedded INT-MD over UDP in a VXLAN Packet": inner only, original port in the shim.
TEST(IntReport, EmbeddedStackBeforeVxlan) {
  const std::string bytes =
      Hex("20000001 00000003"
          "04 15 00 20"                                      // inner only, IPv4, 21 words
          "4500 0080 2222 0000 4011 0000 c0a80101 c0a80202"  // 192.168.1.1 → 192.168.2.2
          "ddd5 1389 006c 0000"                              // 56789 → INT's port
          "14 09 12b5"                         // shim: type 1, NPT 1, length 9, port 4789
          "20 00 02 05  c000 0000  0000 0000"  // node id, ports; 3 hops
          "00000003 0001 0002  00000002 0003 0004  00000001 0005 0006"
          "0800 0000 0000 0100"    // VXLAN
          "0202 0202 0202 0101");  // the tenant's frame, cut
  IntGroup group;
  ASSERT_TRUE(DecodeIntReports(bytes, group).ok());
  const IntReport& report = group.reports.at(0);
  ASSERT_TRUE(report.stack);
  ASSERT_EQ(report.stack->hops.size(), 3u);
  EXPECT_EQ(report.stack->hops[2].node_id, 1u);
  EXPECT_EQ(report.stack->hops[2].egress_port, 6);
  EXPECT_EQ(pcap::FlowName(report.headers->flow), "udp:192.168.1.1:56789-192.168.2.2:4789");
}

// INT specification, "INT over TCP": behind TCP's header, marked by DSCP (NPT 0).
TEST(IntReport, EmbeddedStackBehindTcp) {
  const std::string shim =
      "10 07 005c  20 00 02 06 9000 0000 0000 0000  00000002 00000022 00000001 00000011";
  const std::string ip = "4500 0050 1111 0000 4006 0000 0a000001 0a000002";
  const std::string port = "0bb8 1770 00000064 000000c8 ";
  for (const std::string& packet : {ip + port + "5010 0200 abcd 0000" + shim + "61626364",
                                    // before and behind options
                                    ip + port + "6010 0200 abcd 0000 01010101" + shim,
                                    ip + port + "6010 0200 abcd 0000" + shim + "01010101",
                                    // behind a probe marker of eight bytes
                                    ip + port + "5010 0200 abcd 0000 aabbccdd 11223344" + shim}) {
    const std::string inner = Hex(packet);
    IntGroup group;
    group.node_id = 3;
    IntReport report;
    report.type = 0;
    report.inner_type = 4;
    report.tracked = true;
    report.packet = inner;
    group.reports.push_back(report);
    const auto bytes = EncodeIntReports(group);
    ASSERT_TRUE(bytes.ok());
    IntGroup back;
    ASSERT_TRUE(DecodeIntReports(*bytes, back).ok());
    ASSERT_TRUE(back.reports[0].stack) << packet;
    EXPECT_EQ(back.reports[0].stack->hops.size(), 2u);
    EXPECT_EQ(back.reports[0].headers->flow.destination_port, 6000);
  }
}

// INT over GRE, VXLAN GPE and Geneve.
TEST(IntReport, EmbeddedStackInTunnels) {
  const std::string body = "20 00 02 06 9000 0000 0000 0000  00000002 00000022 00000001 00000011";
  const std::string ip = "4500 0050 1111 0000 40%s 0000 0a000001 0a000002";
  const auto packet = [&](const std::string& protocol, const std::string& rest) {
    std::string text = ip;
    text.replace(text.find("%s"), 2, protocol);
    return Hex(text + rest);
  };
  const std::string packets[] = {
      packet("2f", "3000 9999 00000001 00000002  18 07 0800" + body +
                       "45000014"),  // GRE with key and number
      packet("11",
             "c000 12b6 0040 0000  0c000080 00000100  10 07 0003" + body),  // VXLAN GPE, next: INT
      packet("11", "c000 17c1 0040 0000  09006558 00000100  0105 80 00  0103 01 07" + body +
                       "0000"),  // Geneve
  };
  for (const std::string& inner : packets) {
    IntGroup group;
    IntReport report;
    report.type = 0;
    report.inner_type = 4;
    report.tracked = true;
    report.packet = inner;
    group.reports.push_back(report);
    const auto bytes = EncodeIntReports(group);
    ASSERT_TRUE(bytes.ok());
    IntGroup back;
    ASSERT_TRUE(DecodeIntReports(*bytes, back).ok());
    ASSERT_TRUE(back.reports[0].stack) << (&inner - packets);
    EXPECT_EQ(back.reports[0].stack->hops.at(1).node_id, 1u);
  }
}

TEST(IntReport, AStackCutWithItsPacketKeepsTheNewestHops) {
  std::string bytes = Hex(kMdInTcp);
  bytes.resize(bytes.size() - 24);  // TCP and half of hop 1
  bytes[9] = static_cast<char>(23 - 6);
  IntGroup group;
  ASSERT_TRUE(DecodeIntReports(bytes, group).ok());
  ASSERT_TRUE(group.reports.at(0).stack);
  EXPECT_TRUE(group.reports[0].stack->cut);
  ASSERT_EQ(group.reports[0].stack->hops.size(), 1u);
  EXPECT_EQ(group.reports[0].stack->hops[0].node_id, 2u);
}

IntMetadata AllMetadata() {
  IntMetadata all = HopMetadata(1, 2, 3, 0x1122334455667788, 0x1122334455667799);
  all.bits = kIntPorts | kIntHopLatency | kIntQueue | kIntIngressTime | kIntEgressTime |
             kIntLogicalPorts | kIntUtilization | kIntBuffer | IntBit(11) | kIntDrop;
  all.hop_latency = 17;
  all.logical_ingress_port = 0x01020304;
  all.logical_egress_port = 0x05060708;
  all.utilization = 80;
  all.buffer_id = 9;
  all.buffer_occupancy = 0x0a0b0c;
  all.drop_queue_id = 3;
  all.drop_reason = 71;
  return all;
}

// Bits 4, 5 and 6 have eight bytes, the others four.
TEST(IntReport, EveryMetadataBitInOrder) {
  std::string bytes;
  EncodeIntMetadata(AllMetadata(), IntPlace::kReport, bytes);
  EXPECT_EQ(bytes, Hex("0001 0002  00000011  03 000003  1122334455667788 1122334455667799"
                       "01020304 05060708  00000050  09 0a0b0c  ffffffff  03 47 0000"));
  EXPECT_EQ(IntWords(AllMetadata().bits), 13);
  const IntMetadata back = DecodeIntMetadata(IntPlace::kReport, AllMetadata().bits, bytes);
  EXPECT_EQ(back.ingress_time, 0x1122334455667788u);
  EXPECT_EQ(back.logical_egress_port, 0x05060708u);
  EXPECT_EQ(back.buffer_occupancy, 0x0a0b0cu);
  EXPECT_EQ(back.drop_reason, 71);
  EXPECT_EQ(back.utilization, 80u);
  EXPECT_EQ(back.hop_latency, 17u);
  EXPECT_EQ(back.invalid, 1) << "the reserved field";
}

TEST(IntReport, AllOnesMeansInvalid) {
  const IntMetadata metadata = DecodeIntMetadata(
      IntPlace::kReport,
      kIntPorts | kIntQueue | kIntIngressTime | kIntEgressTime | kIntLogicalPorts,
      Hex("ffffffff ffffffff ffffffffffffffff 00000000ffffffff ffffffffffffffff"));
  EXPECT_FALSE(metadata.egress_port);
  EXPECT_FALSE(metadata.queue_id);
  EXPECT_FALSE(metadata.ingress_time);
  EXPECT_FALSE(metadata.logical_ingress_port);
  EXPECT_EQ(metadata.egress_time, 0xffffffffu) << "half of the ones are a value";
  EXPECT_EQ(metadata.invalid, 4);
}

// In a stack bit 0 is the node's id and bit 15 the checksum complement, behind the domain's metadata.
TEST(IntReport, StacksGiveBits0And15AnotherMeaning) {
  const std::string bytes = Hex("00000007 00000064 d0d1d2d3 0000abcd");
  const IntMetadata hop =
      DecodeIntMetadata(IntPlace::kStack, kIntNodeId | kIntHopLatency | kIntChecksum, bytes);
  EXPECT_EQ(hop.node_id, 7u);
  EXPECT_EQ(hop.hop_latency, 100u);
  EXPECT_EQ(hop.domain, Hex("d0d1d2d3"));
  EXPECT_EQ(hop.checksum_complement, 0xabcdu);
  EXPECT_FALSE(hop.drop_reason);
}

TEST(IntReport, ReportsBeforeAMalformedOneStay) {
  const std::string head = Hex("20000001 00000001");
  struct Case {
    std::string tail, what;
  };
  const std::string first = Hex("10 04 02 40  4000 0000 0000 0000  0001 0002 00000000");
  for (const Case& bad :
       {Case{Hex("1000"), "only part of its header"},
        Case{Hex("10 04 01 00 4000 0000"), "are left"},
        Case{Hex("10 01 00 00 00000000"), "too short for INT's main contents"},
        Case{Hex("10 03 00 00 4000 0000 0000 0000 00010002"), "is less than"},
        Case{Hex("10 03 05 00 4000 0000 0000 0000 00010002"), "goes beyond its end"},
        Case{Hex("01 02 00 00 00090000 00000000"), "TLVs do not end"}}) {
    IntGroup group;
    const Status status = DecodeIntReports(head + first + bad.tail, group);
    ASSERT_FALSE(status.ok()) << bad.what;
    EXPECT_NE(status.error().message.find(bad.what), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("report 2 at byte 28"), std::string::npos)
        << status.error().message;
    EXPECT_EQ(group.reports.size(), 1u);
  }
  IntGroup group;
  EXPECT_FALSE(DecodeIntReports(Hex("10000001 00000001 00000000"), group).ok()) << "version 1";
  EXPECT_FALSE(DecodeIntReports("", group).ok());
}

TEST(IntReport, WhatDoesNotFitIsNotEncoded) {
  IntGroup group;
  IntReport report;
  const std::string packet(1024, 'x');
  report.inner_type = 4;
  report.packet = packet;
  group.reports.push_back(report);
  EXPECT_FALSE(EncodeIntReports(group).ok());
}

template <typename T>
std::optional<T> Maybe() {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(*rc::gen::inRange<T>(0, 200))
                                     : std::nullopt;
}

// A pair of values that share a field is there or invalid as a whole.
template <typename A, typename B>
void MaybeBoth(std::optional<A>& a, std::optional<B>& b) {
  a = Maybe<A>();
  b = a ? std::optional<B>(*rc::gen::inRange<B>(0, 200)) : std::nullopt;
}

IntMetadata ArbitraryMetadata(IntPlace place) {
  IntMetadata m;
  m.bits = *rc::gen::arbitrary<uint16_t>();
  if (place == IntPlace::kReport) m.bits &= static_cast<uint16_t>(~kIntNodeId);
  const auto has = [&](uint16_t bit) { return (m.bits & bit) != 0; };
  if (has(kIntNodeId)) m.node_id = Maybe<uint32_t>();
  if (has(kIntPorts)) MaybeBoth(m.ingress_port, m.egress_port);
  if (has(kIntHopLatency)) m.hop_latency = Maybe<uint32_t>();
  if (has(kIntQueue)) MaybeBoth(m.queue_id, m.queue_occupancy);
  if (has(kIntIngressTime)) m.ingress_time = Maybe<uint64_t>();
  if (has(kIntEgressTime)) m.egress_time = Maybe<uint64_t>();
  if (has(kIntLogicalPorts)) MaybeBoth(m.logical_ingress_port, m.logical_egress_port);
  if (has(kIntUtilization)) m.utilization = Maybe<uint32_t>();
  if (has(kIntBuffer)) MaybeBoth(m.buffer_id, m.buffer_occupancy);
  if (place == IntPlace::kReport && has(kIntDrop)) MaybeBoth(m.drop_queue_id, m.drop_reason);
  if (place == IntPlace::kStack && has(kIntChecksum)) m.checksum_complement = Maybe<uint32_t>();
  return m;
}

void SameMetadata(const IntMetadata& a, const IntMetadata& b) {
  RC_ASSERT(a.bits == b.bits);
  RC_ASSERT(a.node_id == b.node_id);
  RC_ASSERT(a.ingress_port == b.ingress_port);
  RC_ASSERT(a.egress_port == b.egress_port);
  RC_ASSERT(a.hop_latency == b.hop_latency);
  RC_ASSERT(a.queue_id == b.queue_id);
  RC_ASSERT(a.queue_occupancy == b.queue_occupancy);
  RC_ASSERT(a.ingress_time == b.ingress_time);
  RC_ASSERT(a.egress_time == b.egress_time);
  RC_ASSERT(a.logical_ingress_port == b.logical_ingress_port);
  RC_ASSERT(a.logical_egress_port == b.logical_egress_port);
  RC_ASSERT(a.utilization == b.utilization);
  RC_ASSERT(a.buffer_id == b.buffer_id);
  RC_ASSERT(a.buffer_occupancy == b.buffer_occupancy);
  RC_ASSERT(a.drop_queue_id == b.drop_queue_id);
  RC_ASSERT(a.drop_reason == b.drop_reason);
  RC_ASSERT(a.checksum_complement == b.checksum_complement);
}

TEST(IntReport, WhatIsEncodedIsDecoded) {
  const bool holds = rc::check([] {
    IntGroup group;
    group.hardware_id = *rc::gen::inRange<uint8_t>(0, 64);
    group.sequence = *rc::gen::inRange<uint32_t>(0, kIntSequences);
    group.node_id = *rc::gen::arbitrary<uint32_t>();
    const pcap::FiveTuple flow = FlowBetween(1, 2);
    const std::string original = pcap::EncodeUdpPacket(flow, 77, "payload");
    pcap::PacketHeaders headers;
    RC_ASSERT(pcap::DecodePacket(pcap::LinkType::kRawIp, original, headers) ==
              pcap::PacketFault::kNone);
    std::vector<IntStack> stacks(*rc::gen::inRange<size_t>(1, 4));
    std::vector<std::string> packets(stacks.size());
    for (size_t i = 0; i < stacks.size(); ++i) {
      IntReport report;
      report.tracked = true;
      report.congested = *rc::gen::arbitrary<bool>();
      report.inner_type = 4;
      report.metadata = ArbitraryMetadata(IntPlace::kReport);
      packets[i] = original;
      stacks[i].hops.resize(*rc::gen::inRange<size_t>(0, 5));
      if (!stacks[i].hops.empty()) {
        const IntMetadata like = ArbitraryMetadata(IntPlace::kStack);
        stacks[i].instructions = like.bits;
        stacks[i].hop_words = static_cast<uint8_t>(IntWords(like.bits));
        for (IntMetadata& hop : stacks[i].hops) hop = like;
        RC_PRE(stacks[i].hop_words > 0);
        packets[i] = EncodeIntOverUdp(headers, stacks[i], 5001);
      }
      report.packet = packets[i];
      group.reports.push_back(report);
    }
    const auto bytes = EncodeIntReports(group);
    RC_ASSERT(bytes.ok());
    IntGroup back;
    RC_ASSERT(DecodeIntReports(*bytes, back).ok());
    RC_ASSERT(back.hardware_id == group.hardware_id);
    RC_ASSERT(back.sequence == group.sequence);
    RC_ASSERT(back.node_id == group.node_id);
    RC_ASSERT(back.reports.size() == group.reports.size());
    for (size_t i = 0; i < stacks.size(); ++i) {
      const IntReport& report = back.reports[i];
      SameMetadata(report.metadata, group.reports[i].metadata);
      RC_ASSERT(report.congested == group.reports[i].congested);
      RC_ASSERT(report.headers.has_value());
      RC_ASSERT(report.headers->flow == flow);
      RC_ASSERT(report.stack.has_value() == !stacks[i].hops.empty());
      if (!report.stack) continue;
      RC_ASSERT(report.stack->hops.size() == stacks[i].hops.size());
      for (size_t h = 0; h < stacks[i].hops.size(); ++h)
        SameMetadata(report.stack->hops[h], stacks[i].hops[h]);
    }
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace wf::packets
