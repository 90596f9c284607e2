#include "import/packets/int_passages.h"

#include <gtest/gtest.h>

#include "import/packets/packet_builders_test.h"
#include "import/packets/packet_events.h"

namespace wf::packets {
namespace {

constexpr Nanos kStart = 1'794'643'200'000'000'000;

std::string Encoded(const IntGroup& group) {
  const auto bytes = EncodeIntReports(group);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? *bytes : "";
}

TEST(IntSequence, GapsWrapsAndLateOnes) {
  IntSequence sequence;
  int64_t missed = 0;
  using Step = IntSequence::Step;
  EXPECT_EQ(sequence.Take(kIntSequences - 2, missed), Step::kFirst);
  EXPECT_EQ(sequence.Take(kIntSequences - 1, missed), Step::kNext);
  EXPECT_EQ(sequence.Take(0, missed), Step::kNext);
  EXPECT_EQ(sequence.Take(4, missed), Step::kGap);
  EXPECT_EQ(missed, 3);
  EXPECT_EQ(sequence.Take(2, missed), Step::kLate);
  EXPECT_EQ(sequence.Take(4, missed), Step::kRepeated);
  EXPECT_EQ(sequence.Take(5, missed), Step::kNext);
  EXPECT_EQ(sequence.Take(kIntSequences - 1, missed), Step::kLate);
}

TEST(IntPassages, ReportsOfEachHopJoinToOneWay) {
  const std::string packet = pcap::EncodeUdpPacket(FlowBetween(1, 2), 7, "request").substr(0, 28);
  PacketPassages passages;
  IntPassages reports(passages);
  reports.AddDatagram(
      "10.9.0.1", Encoded(HopReport(1, 100, HopMetadata(1, 4, 0, kStart, kStart + 50), packet)));
  reports.AddDatagram(
      "10.9.0.2", Encoded(HopReport(2, 9, HopMetadata(2, 5, 1, kStart + 60, kStart + 90), packet)));
  const PacketEvents events = MakePacketEvents(passages);
  ASSERT_EQ(events.trails.size(), 1u);
  ASSERT_EQ(events.events.size(), 3u);
  EXPECT_EQ(events.events[1].holds->at(0).resource, "1/4/0");
  EXPECT_EQ(events.events[2].holds->at(0).resource, "2/5/1");
  EXPECT_EQ(events.events[2].causes.at(0), events.events[1].id);
  EXPECT_EQ(events.events[2].origin, "udp:10.0.0.1:5001-10.0.1.2:6002");
  EXPECT_EQ(passages.counts["sequence_gaps"], 0);
}

// The same packets, once as a stack that the sink reports and once hop by hop, make the same events.
TEST(IntPassages, AStackSaysWhatItsHopsWouldSay) {
  const std::string packet = pcap::EncodeUdpPacket(FlowBetween(1, 2), 7, "request");
  pcap::PacketHeaders headers;
  ASSERT_EQ(pcap::DecodePacket(pcap::LinkType::kRawIp, packet, headers), pcap::PacketFault::kNone);
  IntStack stack;
  IntMetadata hops[] = {HopMetadata(2, 5, 1, kStart + 60, kStart + 90),
                        HopMetadata(1, 4, 0, kStart, kStart + 50)};
  for (IntMetadata& hop : hops) {
    hop.bits |= kIntNodeId;
    stack.hops.push_back(hop);
  }
  stack.instructions = hops[0].bits;
  stack.hop_words = static_cast<uint8_t>(IntWords(stack.instructions));
  const std::string carried = EncodeIntOverUdp(headers, stack, 5001);

  PacketPassages stacked, single;
  IntPassages stack_reports(stacked), hop_reports(single);
  const IntMetadata last = HopMetadata(3, 6, 0, kStart + 100, kStart + 120);
  stack_reports.AddDatagram("10.9.0.3", Encoded(HopReport(3, 1, last, carried)));
  hop_reports.AddDatagram(
      "10.9.0.1", Encoded(HopReport(1, 1, HopMetadata(1, 4, 0, kStart, kStart + 50), packet)));
  hop_reports.AddDatagram(
      "10.9.0.2", Encoded(HopReport(2, 1, HopMetadata(2, 5, 1, kStart + 60, kStart + 90), packet)));
  hop_reports.AddDatagram("10.9.0.3", Encoded(HopReport(3, 1, last, packet)));
  std::string a, b;
  for (const ProvenanceEvent& event : MakePacketEvents(stacked).events)
    AppendProvenanceLine(event, a);
  for (const ProvenanceEvent& event : MakePacketEvents(single).events)
    AppendProvenanceLine(event, b);
  EXPECT_EQ(a, b);
  EXPECT_EQ(stacked.counts["hops"], 3);
}

TEST(IntPassages, WhatIsMissingIsCounted) {
  const std::string packet = pcap::EncodeUdpPacket(FlowBetween(1, 2), 7, "request").substr(0, 28);
  PacketPassages passages;
  IntPassages reports(passages);
  // The latency stands in for one of the times.
  IntMetadata hop = HopMetadata(1, 4, 0, kStart, 0);
  hop.bits |= kIntHopLatency;
  hop.hop_latency = 70;
  hop.egress_time.reset();
  reports.AddDatagram("s", Encoded(HopReport(1, 0, hop, packet)));
  ASSERT_EQ(passages.passages.size(), 1u);
  EXPECT_EQ(passages.passages[0].egress_ns, kStart + 70);
  EXPECT_EQ(passages.counts["invalid_values"], 1);
  // Without any there is no passage.
  hop.hop_latency.reset();
  reports.AddDatagram("s", Encoded(HopReport(1, 3, hop, packet)));
  EXPECT_EQ(passages.counts["without_times"], 1);
  EXPECT_EQ(passages.counts["sequence_gaps"], 1);
  EXPECT_EQ(passages.counts["sequence_missing"], 2);
  // No port, no packet.
  hop = HopMetadata(1, 4, 0, kStart + 10, kStart + 20);
  hop.egress_port.reset();
  IntGroup group = HopReport(1, 4, hop, {});
  group.reports[0].inner_type = 0;
  reports.AddDatagram("s", Encoded(group));
  EXPECT_EQ(passages.counts["without_port"], 1);
  EXPECT_EQ(passages.counts["without_flow"], 1);
  EXPECT_EQ(passages.passages.size(), 2u);
  // Times that contradict each other.
  reports.AddDatagram("s",
                      Encoded(HopReport(1, 5, HopMetadata(1, 4, 0, kStart + 9, kStart), packet)));
  EXPECT_EQ(passages.counts["egress_before_ingress"], 1);
  // A dropped packet never left.
  hop = HopMetadata(1, 4, 0, kStart, 0);
  hop.bits = kIntPorts | kIntIngressTime | kIntDrop;
  hop.drop_queue_id = 0;
  hop.drop_reason = 71;
  hop.egress_time.reset();
  group = HopReport(1, 6, hop, packet);
  group.reports[0].dropped = true;
  reports.AddDatagram("s", Encoded(group));
  EXPECT_EQ(passages.counts["dropped_packets"], 1);
  EXPECT_EQ(passages.counts["without_times"], 1);
  // Types we cannot read.
  group.reports[0].type = 2;
  reports.AddDatagram("s", Encoded(group));
  EXPECT_EQ(passages.counts["ioam_reports"], 1);
  reports.AddDatagram("s", std::string("\x20\0\0\7\0\0\0\1\x10\xff\0\0", 12));
  EXPECT_EQ(passages.counts["malformed_reports"], 1);
  reports.AddDatagram("s", "other");
  EXPECT_EQ(passages.counts["malformed_reports"], 2);
  EXPECT_EQ(passages.counts["sequence_late"], 0);
  EXPECT_EQ(passages.passages.size(), 2u);
}

// Two packets that nobody can tell apart, both at both switches.
TEST(IntPassages, EqualPacketsAreMatchedInOrder) {
  const std::string packet = pcap::EncodeUdpPacket(FlowBetween(1, 2), 0, "same").substr(0, 28);
  PacketPassages passages;
  IntPassages reports(passages);
  uint32_t sequence = 0;
  for (const Nanos at : {kStart, kStart + 100})
    reports.AddDatagram(
        "1", Encoded(HopReport(1, sequence++, HopMetadata(1, 4, 0, at, at + 10), packet)));
  for (const Nanos at : {kStart + 50, kStart + 150})
    reports.AddDatagram(
        "2", Encoded(HopReport(2, sequence++, HopMetadata(2, 4, 0, at, at + 10), packet)));
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(events.trails.size(), 2u);
  EXPECT_EQ(events.events.size(), 6u);
  EXPECT_EQ(passages.counts["chain_breaks"], 0);
}

}  // namespace
}  // namespace wf::packets
