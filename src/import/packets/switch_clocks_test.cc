#include "import/packets/switch_clocks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cstdio>

#include "import/packets/int_passages.h"
#include "import/packets/packet_builders_test.h"
#include "import/packets/packet_events.h"
#include "import/pcap/capture_writer.h"

namespace wf::packets {
namespace {

constexpr Nanos kStart = 1'794'643'200'000'000'000;

// Packet `number` left `from` and came to `to` after `transit` by their clocks.
void AddTransit(PacketPassages& passages, uint64_t number, uint32_t from, uint32_t to,
                Nanos transit) {
  const uint32_t flow = passages.FlowIndex(FlowBetween(1, 2));
  const auto queue = [&](uint32_t node) {
    return passages.QueueIndex({std::to_string(node), "1", "0"});
  };
  passages.passages.push_back({queue(from), flow, {number, 0}, kStart - 5, kStart, 1});
  passages.passages.push_back(
      {queue(to), flow, {number, 0}, kStart + transit, kStart + transit + 5, 2});
}

// Clocks that differ by amounts that are fixed can always be put right; then all packets arrive after they left.
TEST(SwitchClocks, ClocksThatOnlyDifferAreAlwaysPutRight) {
  const bool holds = rc::check([] {
    PacketPassages passages;
    const auto switches = *rc::gen::inRange<uint32_t>(2, 9);
    const auto off =
        *rc::gen::container<std::vector<Nanos>>(switches, rc::gen::inRange<Nanos>(-1000, 1000));
    const auto packets = *rc::gen::inRange<uint64_t>(1, 40);
    for (uint64_t number = 0; number < packets; ++number) {
      const auto from = *rc::gen::inRange<uint32_t>(0, switches);
      const auto to = *rc::gen::inRange<uint32_t>(0, switches);
      AddTransit(passages, number, from, to,
                 off[to] - off[from] + *rc::gen::inRange<Nanos>(0, 100));
    }
    AlignSwitchClocks(passages);
    RC_ASSERT(passages.counts["clocks_contradict"] == 0);
    RC_ASSERT(passages.counts["clocks_unsettled"] == 0);
    for (size_t i = 0; i + 1 < passages.passages.size(); i += 2) {
      const QueuePassage &left = passages.passages[i], &came = passages.passages[i + 1];
      if (left.queue != came.queue) RC_ASSERT(came.ingress_ns >= left.egress_ns);
    }
  });
  EXPECT_TRUE(holds);
}

TEST(SwitchClocks, BeyondTheStepsAllowedNoClockIsMoved) {
  PacketPassages passages;
  AddTransit(passages, 1, 1, 2, -10);
  AddTransit(passages, 2, 2, 3, -10);
  PacketPassages same = passages;
  EXPECT_EQ(AlignSwitchClocks(passages, 1).size(), 0u);
  EXPECT_EQ(passages.counts["clocks_unsettled"], 1);
  EXPECT_EQ(passages.counts["clocks_contradict"], 0);
  EXPECT_EQ(passages.passages[1].ingress_ns, kStart - 10);
  EXPECT_EQ(AlignSwitchClocks(same).size(), 2u);
  EXPECT_EQ(same.counts["clocks_unsettled"], 0);
}

// A capture of reports with a new switch in each, each of which seems to be behind the one before: the worst there is,
// told in the worst order. Without a limit, 30,000 reports take half a billion steps, 300,000 a hundred times as many.
TEST(SwitchClocks, AForgedCaptureIsNotComputedForEver) {
  constexpr uint32_t kReports = 30'000;
  const std::string path =
      testing::TempDir() + "forged_clocks_" + std::to_string(getpid()) + ".pcap";
  {
    auto file = pcap::CaptureWriter::Create(path, pcap::LinkType::kRawIp);
    ASSERT_TRUE(file.ok()) << file.error().message;
    pcap::FiveTuple collector = FlowBetween(9, 9);
    for (uint32_t i = 0; i < kReports; ++i) {
      const uint32_t from = kReports - i, to = from + 1;
      const std::string packet =
          pcap::EncodeUdpPacket(FlowBetween(1, 2), static_cast<uint16_t>(i), std::to_string(i));
      pcap::PacketHeaders headers;
      ASSERT_EQ(pcap::DecodePacket(pcap::LinkType::kRawIp, packet, headers),
                pcap::PacketFault::kNone);
      IntStack stack;
      stack.hops.push_back(HopMetadata(from, 1, 0, kStart + 10, kStart + 20));
      stack.hops[0].bits |= kIntNodeId;
      stack.instructions = stack.hops[0].bits;
      stack.hop_words = static_cast<uint8_t>(IntWords(stack.instructions));
      const std::string carried = EncodeIntOverUdp(headers, stack, 5001);
      const auto report = EncodeIntReports(
          HopReport(to, i, HopMetadata(to, 1, 0, kStart + 15, kStart + 25), carried));
      ASSERT_TRUE(report.ok());
      (*file)->Write(kStart, pcap::EncodeUdpPacket(collector, 0, *report));
    }
    ASSERT_TRUE((*file)->Close().ok());
  }
  PacketPassages passages;
  IntPassages reports(passages);
  const Status added = reports.AddCapture(path, 0);
  std::remove(path.c_str());
  ASSERT_TRUE(added.ok()) << added.error().message;
  ASSERT_EQ(passages.counts["hops"], 2 * kReports);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(passages.counts["clocks_unsettled"], 1);
  EXPECT_EQ(passages.counts["clocks_moved"], 0);
  EXPECT_EQ(passages.counts["chain_breaks"], kReports) << "told as they stand";
  EXPECT_EQ(events.events.size(), 4u * kReports);
}

}  // namespace
}  // namespace wf::packets
