#include "import/pcap/fragment_joiner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <random>

#include "import/pcap/capture_builder_test.h"

namespace wf::pcap {
namespace {

void Put16(std::string& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<char>(value >> 8);
  bytes[at + 1] = static_cast<char>(value);
}

// An IP packet as sent in fragments, each of these many times eight bytes, the last of what is left.
std::vector<std::string> Fragments(const std::string& packet, const std::vector<size_t>& eights) {
  const bool v4 = static_cast<uint8_t>(packet[0]) >> 4 == 4;
  const size_t header = v4 ? 20 : 40;
  const std::string body = packet.substr(header);
  std::vector<std::string> fragments;
  for (size_t at = 0, n = 0; at < body.size(); ++n) {
    const size_t size = std::min(
        body.size() - at, 8 * (n < eights.size() ? std::max<size_t>(1, eights[n]) : size_t{8000}));
    const bool more = at + size < body.size();
    std::string one = packet.substr(0, header);
    if (v4) {
      Put16(one, 2, header + size);
      Put16(one, 6, at / 8 | (more ? 0x2000 : 0));
    } else {
      const char next = one[6];
      one[6] = 44;
      Put16(one, 4, 8 + size);
      one += std::string{next, 0, 0, 0, 0, 0, 0, 7};
      Put16(one, 42, at | (more ? 1 : 0));
    }
    fragments.push_back(one + body.substr(at, size));
    at += size;
  }
  return fragments;
}

FiveTuple FlowOf(uint8_t version) {
  FiveTuple flow{Ipv4Address(10, 0, 0, 1), Ipv4Address(10, 0, 0, 2), 4000, 53, kProtocolUdp};
  if (version == 6) flow.source.version = flow.destination.version = 6;
  return flow;
}

struct Joined {
  int times = 0;
  std::string payload;
  PacketHeaders headers;
};
Joined JoinAll(FragmentJoiner& joiner, const std::vector<std::string>& fragments, Nanos time = 1) {
  Joined joined;
  for (const std::string& bytes : fragments) {
    PacketHeaders headers;
    PacketFault fault = DecodePacket(LinkType::kRawIp, bytes, headers);
    EXPECT_EQ(fault, PacketFault::kNone);
    if (!joiner.Join(headers, time, fault)) continue;
    EXPECT_EQ(fault, PacketFault::kNone);
    ++joined.times;
    joined.payload = std::string(headers.payload);
    joined.headers = headers;
  }
  return joined;
}

TEST(FragmentJoiner, BothVersionsInAnyOrder) {
  const std::string payload = std::string(3000, 'a') + std::string(2001, 'b');
  for (const uint8_t version : {uint8_t{4}, uint8_t{6}}) {
    auto fragments = Fragments(EncodeUdpPacket(FlowOf(version), 7, payload), {1, 100, 20});
    ASSERT_EQ(fragments.size(), 4u);
    std::sort(fragments.begin(), fragments.end());
    do {
      FragmentJoiner joiner;
      const Joined joined = JoinAll(joiner, fragments);
      EXPECT_EQ(joined.times, 1);
      EXPECT_EQ(joined.payload, payload);
      EXPECT_EQ(joined.headers.flow.destination_port, 53);
      EXPECT_FALSE(joined.headers.fragment);
      EXPECT_EQ(joiner.counts().joined, 1);
      EXPECT_EQ(joiner.counts().given_up, 0);
    } while (std::next_permutation(fragments.begin(), fragments.end()));
  }
}

TEST(FragmentJoiner, WhatStaysIncompleteIsGivenUpAndCounted) {
  FragmentJoiner joiner;
  auto fragments = Fragments(EncodeUdpPacket(FlowOf(4), 7, std::string(500, 'x')), {10, 10, 10});
  const std::string last = fragments.back();
  fragments.pop_back();
  EXPECT_EQ(JoinAll(joiner, fragments).times, 0);
  // Too late: it begins another.
  EXPECT_EQ(JoinAll(joiner, {last}, kMinute).times, 0);
  EXPECT_EQ(joiner.counts().given_up, 4);
}

TEST(FragmentJoiner, MemoryIsBounded) {
  FragmentJoiner joiner({100'000, 30 * kSecond});
  for (uint16_t id = 1; id <= 1000; ++id) {
    auto fragments = Fragments(EncodeUdpPacket(FlowOf(4), id, std::string(4000, 'x')), {300});
    fragments.pop_back();
    EXPECT_EQ(JoinAll(joiner, fragments).times, 0);
  }
  EXPECT_GT(joiner.counts().given_up, 900);
  // A packet that is all there is still joined.
  const auto fragments = Fragments(EncodeUdpPacket(FlowOf(4), 2000, "abcdefghijkl"), {1});
  EXPECT_EQ(JoinAll(joiner, fragments).payload, "abcdefghijkl");
}

TEST(FragmentJoiner, CapturedTwiceItIsOnePacket) {
  FragmentJoiner joiner;
  const auto once = Fragments(EncodeUdpPacket(FlowOf(4), 7, std::string(100, 'x')), {2, 2});
  std::vector<std::string> twice;
  for (const std::string& one : once) twice.insert(twice.end(), {one, one});
  EXPECT_EQ(JoinAll(joiner, twice).times, 1);
  EXPECT_EQ(joiner.counts().doubles, static_cast<int64_t>(once.size()));
  EXPECT_EQ(joiner.counts().given_up, 0);
}

TEST(FragmentJoiner, WhatCannotBeAPartIsCounted) {
  FragmentJoiner joiner;
  auto fragments = Fragments(EncodeUdpPacket(FlowOf(4), 7, std::string(100, 'x')), {2, 2});
  Put16(fragments[0], 2, 20 + 13);  // not a multiple of eight, and more to come
  Put16(fragments[1], 6, 0x3fff);   // beyond the longest packet
  EXPECT_EQ(JoinAll(joiner, fragments).times, 0);
  EXPECT_EQ(joiner.counts().malformed, 2);
}

// Captured too short: what is before the first hole is had, and how long it was.
TEST(FragmentJoiner, CutFragments) {
  FragmentJoiner joiner;
  auto fragments = Fragments(EncodeUdpPacket(FlowOf(4), 7, std::string(500, 'x')), {10, 10});
  fragments[1].resize(60);
  const Joined joined = JoinAll(joiner, fragments);
  EXPECT_EQ(joined.times, 1);
  EXPECT_EQ(joined.payload.size(), 80 + 40 - 8);
  EXPECT_EQ(joined.headers.payload_length, 500u);
}

// However packets were fragmented, and in whatever order the fragments came, the messages are the same.
TEST(FragmentJoiner, MessagesAreTheSame) {
  EXPECT_TRUE(rc::check([]() {
    TalkBuilder talk(80);
    talk.Open();
    const int exchanges = *rc::gen::inRange(1, 5);
    for (int i = 0; i < exchanges; ++i) {
      talk.Client("GET /" + std::string(*rc::gen::inRange<size_t>(0, 300), 'p') +
                  " HTTP/1.1\r\nHost: shop\r\n\r\n");
      const size_t body = *rc::gen::inRange<size_t>(0, 4000);
      talk.Server("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body) + "\r\n\r\n" +
                  std::string(body, 'b'));
    }
    talk.Close();
    const ReadCapture whole = Read(talk);
    std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
    std::vector<BuiltPacket> packets;
    int64_t sent = 0, in_parts = 0;
    for (const BuiltPacket& packet : talk.packets()) {
      auto parts = Fragments(
          packet.bytes, *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 60)));
      if (parts.size() > 1) {
        sent += static_cast<int64_t>(parts.size());
        ++in_parts;
      }
      std::shuffle(parts.begin(), parts.end(), random);
      for (const std::string& part : parts) packets.push_back({packet.time_ns, part, false, -1});
    }
    const ReadCapture read = ReadBytes(CaptureFile(packets));
    RC_ASSERT(read.lines == whole.lines);
    RC_ASSERT(read.full == whole.full);
    RC_ASSERT(read.counts.fragments == sent);
    RC_ASSERT(read.counts.joined == in_parts);
    RC_ASSERT(read.counts.fragments_alone == 0);
    RC_ASSERT(read.counts.gaps == 0);
  }));
}

}  // namespace
}  // namespace wf::pcap
