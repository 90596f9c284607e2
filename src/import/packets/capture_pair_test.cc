#include "import/packets/capture_pair.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "import/packets/packet_builders_test.h"
#include "import/packets/packet_events.h"
#include "import/pcap/capture_writer.h"

namespace wf::packets {
namespace {

class CapturePairTest : public ::testing::Test {
 protected:
  CapturePairTest() : folder_(::testing::TempDir() + "capture_pair." + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~CapturePairTest() override { std::filesystem::remove_all(folder_); }

  struct Seen {
    Nanos time;
    std::string bytes;
  };
  std::string Write(const std::string& name, const std::vector<Seen>& packets,
                    pcap::LinkType link = pcap::LinkType::kRawIp,
                    uint32_t snapshot = pcap::kWholePackets) {
    const std::string path = folder_ + "/" + name;
    auto writer = pcap::CaptureWriter::Create(path, link, snapshot);
    EXPECT_TRUE(writer.ok());
    for (const Seen& packet : packets) (*writer)->Write(packet.time, packet.bytes);
    EXPECT_TRUE((*writer)->Close().ok());
    return path;
  }

  std::string folder_;
  PacketPassages passages_;
  const QueueName queue_{"s1", "eth2", "0"};
};

std::string Udp(int from, uint16_t id, const std::string& payload) {
  return pcap::EncodeUdpPacket(FlowBetween(from, 2), id, payload);
}

// The next router has taken one from the hop limit and changed the header's checksum.
std::string Routed(std::string packet) {
  packet[8] = static_cast<char>(packet[8] - 1);
  packet[10] = static_cast<char>(packet[10] + 1);
  return packet;
}

TEST_F(CapturePairTest, PacketsAreKnownAgain) {
  const std::string before = Write("in.pcap", {{100, Udp(1, 1, "a")},
                                               {110, Udp(3, 1, "b")},
                                               {120, Udp(1, 2, "c")},
                                               {130, Udp(1, 3, "gone")}});
  const std::string after = Write("out.pcap", {{150, Routed(Udp(1, 1, "a"))},
                                               {190, Routed(Udp(3, 1, "b"))},
                                               {230, Routed(Udp(1, 2, "c"))},
                                               {240, Udp(1, 1, "other payload")}});
  ASSERT_TRUE(AddCapturePairs({{queue_, {before}, after}}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 3);
  EXPECT_EQ(passages_.counts["unmatched_before"], 1);
  EXPECT_EQ(passages_.counts["unmatched_after"], 1);
  const PacketEvents events = MakePacketEvents(passages_);
  EXPECT_EQ(events.events.size(), 6u);
  const ProvenanceEvent& last = events.events.back();
  EXPECT_EQ(last.ready_ns, 120);
  EXPECT_EQ(last.start_ns, 190);
  EXPECT_EQ(last.end_ns, 230);
  EXPECT_EQ(last.node, "s1");
  EXPECT_EQ(last.origin, "udp:10.0.0.1:5001-10.0.1.2:6002");
}

TEST_F(CapturePairTest, SeveralWaysInAreOne) {
  const std::string one = Write("in1.pcap", {{100, Udp(1, 1, "a")}});
  const std::string two = Write("in2.pcap", {{90, Udp(3, 1, "b")}});
  const std::string after = Write("out.pcap", {{150, Udp(3, 1, "b")}, {190, Udp(1, 1, "a")}});
  ASSERT_TRUE(AddCapturePairs({{queue_, {one, two}, after}}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 2);
  MakePacketEvents(passages_);
  EXPECT_EQ(passages_.counts["not_fifo"], 0);
}

TEST_F(CapturePairTest, OneCookedCaptureServesBothSides) {
  const auto cooked = [](pcap::PacketDirection direction, const std::string& packet) {
    return pcap::CookedHeader2(3, direction, 4) + packet;
  };
  const std::string both =
      Write("any.pcap",
            {{100, cooked(pcap::PacketDirection::kIncoming, Udp(1, 1, "a"))},
             {140, cooked(pcap::PacketDirection::kOutgoing, Routed(Udp(1, 1, "a")))}},
            pcap::LinkType::kLinuxCooked2);
  ASSERT_TRUE(AddCapturePairs({{queue_, {both}, both}}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 1);
  EXPECT_EQ(passages_.counts["other_direction"], 2);
  EXPECT_EQ(passages_.passages.at(0).ingress_ns, 100);
  EXPECT_EQ(passages_.passages.at(0).egress_ns, 140);
}

// Captures cut at different lengths: what both hold of the payload is compared.
TEST_F(CapturePairTest, CapturesOfDifferentLengthMatch) {
  const std::string payload(900, 'x');
  const std::string before = Write("in.pcap", {{100, Udp(1, 1, payload)}});
  const std::string after =
      Write("out.pcap", {{150, Udp(1, 1, payload)}}, pcap::LinkType::kRawIp, 200);
  ASSERT_TRUE(AddCapturePairs({{queue_, {before}, after}}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 1);
}

// A packet at two queues stays one packet, however long the captures of each are.
TEST_F(CapturePairTest, CapturesOfDifferentLengthChainFromQueueToQueue) {
  const std::string payload(900, 'x');
  const auto pair = [&](const std::string& name, Nanos in, Nanos out, uint32_t snapshot) {
    return CapturePair{
        {name, "eth1", "0"},
        {Write(name + "-in.pcap", {{in, Udp(1, 1, payload)}}, pcap::LinkType::kRawIp, snapshot)},
        Write(name + "-out.pcap", {{out, Udp(1, 1, payload)}})};
  };
  ASSERT_TRUE(
      AddCapturePairs({pair("s1", 100, 150, 1520), pair("s2", 160, 200, 64)}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 2);
  const PacketEvents events = MakePacketEvents(passages_);
  ASSERT_EQ(events.trails.size(), 1u);
  EXPECT_EQ(events.events.back().causes.at(0), events.events[1].id);
}

TEST_F(CapturePairTest, FragmentsBelongToTheirFlow) {
  std::string first = Udp(1, 9, std::string(16, 'a')), rest = Udp(1, 9, std::string(16, 'b'));
  first[6] = 0x20;  // more follow
  rest[7] = 3;      // at byte 24
  const std::string before = Write("in.pcap", {{100, first}, {101, rest}});
  const std::string after = Write("out.pcap", {{150, first}, {160, rest}});
  ASSERT_TRUE(AddCapturePairs({{queue_, {before}, after}}, passages_).ok());
  EXPECT_EQ(passages_.counts["matched"], 2);
  EXPECT_EQ(passages_.counts["fragments"], 4);
  EXPECT_EQ(passages_.flows.size(), 1u);
}

TEST_F(CapturePairTest, EqualPacketsMatchInOrder) {
  const std::string before = Write("in.pcap", {{100, Udp(1, 0, "a")}, {110, Udp(1, 0, "a")}});
  const std::string after = Write("out.pcap", {{105, Udp(1, 0, "a")}, {150, Udp(1, 0, "a")}});
  ASSERT_TRUE(AddCapturePairs({{queue_, {before}, after}}, passages_).ok());
  ASSERT_EQ(passages_.counts["matched"], 2);
  EXPECT_EQ(passages_.passages[1].ingress_ns, 110);
}

TEST_F(CapturePairTest, AMissingFileIsNamed) {
  const Status status =
      AddCapturePairs({{queue_, {folder_ + "/none.pcap"}, folder_ + "/none.pcap"}}, passages_);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("none.pcap"), std::string::npos);
}

}  // namespace
}  // namespace wf::packets
