// Every protocol, from bytes of one whole conversation to its messages; and whatever the network and the capture do to
// the packets, as long as all bytes are there, the messages are the same.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "import/pcap/talks_test.h"

namespace wf::pcap {
namespace {

TalkBuilder Told(const Talk& talk) {
  TalkBuilder builder(talk.port);
  builder.Open();
  for (const Saying& saying : talk.sayings) builder.Say(saying.end, saying.bytes, 65000);
  builder.Close();
  return builder;
}

class Protocols : public ::testing::TestWithParam<Talk> {};

TEST_P(Protocols, MessagesAndPairs) {
  TalkBuilder builder = Told(GetParam());
  const ReadCapture read = Read(builder);
  EXPECT_EQ(read.bare, GetParam().expected);
  EXPECT_EQ(read.counts.unmatched_returns, 0);
  EXPECT_EQ(read.counts.gaps, 0);
  EXPECT_EQ(read.counts.resynchronised, 0);
  EXPECT_EQ(read.counts.not_as_begun, 0);
  EXPECT_EQ(read.counts.connections, 1);
}

// The order of lines may change where two messages end at the same place; what is said may not.
std::vector<std::string> Sorted(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> WithIds(const ReadCapture& read) { return Sorted(read.full); }

TEST_P(Protocols, AnySegmentationGivesTheSame) {
  const Talk& talk = GetParam();
  TalkBuilder whole = Told(talk);
  const auto expected = WithIds(Read(whole));
  EXPECT_TRUE(rc::check([&]() {
    TalkBuilder builder(talk.port);
    builder.Open();
    for (const Saying& saying : talk.sayings) {
      const auto sizes = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 40));
      builder.SayIn(saying.end, saying.bytes, sizes);
    }
    builder.Close();
    RC_ASSERT(WithIds(Read(builder)) == expected);
  }));
}

TEST_P(Protocols, OneByteAPacket) {
  const Talk& talk = GetParam();
  TalkBuilder whole = Told(talk);
  TalkBuilder builder(talk.port);
  builder.Open();
  for (const Saying& saying : talk.sayings) builder.Say(saying.end, saying.bytes, 1);
  builder.Close();
  EXPECT_EQ(WithIds(Read(builder)), WithIds(Read(whole)));
}

TEST_P(Protocols, ReorderingAndRepetitionGiveTheSame) {
  const Talk& talk = GetParam();
  TalkBuilder whole = Told(talk);
  const auto expected = WithIds(Read(whole));
  EXPECT_TRUE(rc::check([&]() {
    TalkBuilder builder(talk.port);
    builder.Open();
    for (const Saying& saying : talk.sayings) {
      const auto sizes = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 60));
      builder.SayIn(saying.end, saying.bytes, sizes);
    }
    builder.Close();
    std::vector<BuiltPacket> packets = builder.packets();
    constexpr size_t kHandshake = 3;
    // Some come again, a while later.
    const size_t repeats = *rc::gen::inRange<size_t>(0, 10);
    for (size_t i = 0; i < repeats; ++i) {
      const size_t which = *rc::gen::inRange<size_t>(kHandshake, packets.size());
      const size_t to = std::min(packets.size(), which + *rc::gen::inRange<size_t>(1, 20));
      const BuiltPacket again = packets[which];
      packets.insert(packets.begin() + static_cast<ptrdiff_t>(to), again);
    }
    // Some come later than others that were sent after them.
    const size_t moves = *rc::gen::inRange<size_t>(0, 20);
    for (size_t i = 0; i < moves; ++i) {
      const size_t which = *rc::gen::inRange<size_t>(kHandshake, packets.size());
      const size_t to = std::min(packets.size() - 1, which + *rc::gen::inRange<size_t>(1, 12));
      std::rotate(packets.begin() + static_cast<ptrdiff_t>(which),
                  packets.begin() + static_cast<ptrdiff_t>(which) + 1,
                  packets.begin() + static_cast<ptrdiff_t>(to) + 1);
    }
    // As captured: times rise.
    Nanos time = kTestStart;
    for (BuiltPacket& packet : packets) packet.time_ns = time += kMicro;
    const ReadCapture read = ReadBytes(CaptureFile(packets));
    RC_ASSERT(read.counts.gaps == 0);
    RC_ASSERT(WithIds(read) == expected);
  }));
}

// Whatever is lost, nothing is made up: every line is one of the whole's, or tells of a message that was touched.
TEST_P(Protocols, AnyLossIsSurvived) {
  const Talk& talk = GetParam();
  EXPECT_TRUE(rc::check([&]() {
    TalkBuilder builder(talk.port);
    builder.Open();
    for (const Saying& saying : talk.sayings) {
      const auto sizes = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 60));
      builder.SayIn(saying.end, saying.bytes, sizes);
    }
    builder.Close();
    std::vector<BuiltPacket> packets;
    for (const BuiltPacket& packet : builder.packets()) {
      if (*rc::gen::inRange(0, 5) != 0) packets.push_back(packet);
    }
    const ReadCapture read = ReadBytes(CaptureFile(packets));
    RC_ASSERT(read.counts.calls + read.counts.returns + read.counts.messages ==
              static_cast<int64_t>(read.lines.size()));
  }));
}

INSTANTIATE_TEST_SUITE_P(All, Protocols, ::testing::ValuesIn(AllTalks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace wf::pcap
