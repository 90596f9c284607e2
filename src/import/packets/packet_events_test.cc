#include "import/packets/packet_events.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <ctime>
#include <set>

#include "import/packets/packet_builders_test.h"
#include "import/packets/switch_clocks.h"

namespace wf::packets {
namespace {

Hash128 Packet(uint64_t number) { return {number, number}; }

struct Passages : PacketPassages {
  // Packet `number` of flow `from` → `to` through the only port of switch `node`.
  void Add(uint64_t number, int from, const std::string& node, Nanos in, Nanos out,
           uint32_t position = 0) {
    passages.push_back({QueueIndex({node, "1", "0"}), FlowIndex(FlowBetween(from, 9)),
                        Packet(number), in, out, position});
  }
};

const ProvenanceEvent& Find(const PacketEvents& events, const std::string& id) {
  const auto found = std::find_if(events.events.begin(), events.events.end(),
                                  [&](const ProvenanceEvent& event) { return event.id == id; });
  if (found == events.events.end()) throw std::out_of_range("no event " + id);
  return *found;
}

// Everything that section 8's contract asks of events, as far as packets can break it.
std::string ContractBroken(const PacketEvents& events) {
  std::map<std::string, size_t> place;
  for (size_t i = 0; i < events.events.size(); ++i) {
    if (!place.emplace(events.events[i].id, i).second) return "id twice: " + events.events[i].id;
  }
  std::map<std::string, std::vector<std::pair<Nanos, Nanos>>> held;
  for (size_t i = 0; i < events.events.size(); ++i) {
    const ProvenanceEvent& event = events.events[i];
    const std::string& id = event.id;
    if (event.start_ns > event.end_ns) return id + " ends before it starts";
    if (i > 0 && std::make_pair(event.start_ns, event.end_ns) <
                     std::make_pair(events.events[i - 1].start_ns, events.events[i - 1].end_ns)) {
      return id + " is out of order";
    }
    if ((event.type == ProvenanceType::kInsert) != event.causes.empty())
      return id + " has the wrong causes";
    Nanos caused = INT64_MIN;
    for (const std::string& cause : event.causes) {
      const auto found = place.find(cause);
      if (found == place.end() || found->second >= i) return id + " stands before its cause";
      caused = std::max(caused, events.events[found->second].end_ns);
    }
    if (caused > event.start_ns) return id + " starts before its cause ends";
    if (event.ready_ns && (*event.ready_ns < caused || *event.ready_ns > event.start_ns))
      return id + " is ready too soon or late";
    if (!event.holds) return id + " would hold its node";
    for (const ProvenanceHold& hold : *event.holds)
      held[hold.resource].emplace_back(event.start_ns, event.end_ns);
  }
  for (auto& [resource, times] : held) {
    std::sort(times.begin(), times.end());
    for (size_t i = 1; i < times.size(); ++i)
      if (times[i].first < times[i - 1].second) return resource + " is held by two";
  }
  return "";
}

TEST(PacketEvents, OneEventAQueueBehindOneEntry) {
  Passages passages;
  passages.Add(1, 1, "s1", 100, 150);
  passages.Add(1, 1, "s2", 160, 200);
  passages.Add(2, 2, "s1", 110, 180);
  const PacketEvents events = MakePacketEvents(passages);
  ASSERT_EQ(events.events.size(), 5u);
  EXPECT_EQ(ContractBroken(events), "");
  const ProvenanceEvent& entry = Find(events, "0000000000000001");
  EXPECT_EQ(entry.type, ProvenanceType::kInsert);
  EXPECT_EQ(entry.node, "10.0.0.1");
  EXPECT_EQ(entry.start_ns, 100);
  EXPECT_EQ(entry.end_ns, 100);
  EXPECT_TRUE(entry.holds && entry.holds->empty());
  const ProvenanceEvent& hop = Find(events, "0000000000000001@s2/1/0");
  EXPECT_EQ(hop.type, ProvenanceType::kDerive);
  EXPECT_EQ(hop.node, "s2");
  EXPECT_EQ(hop.tuple, "udp:10.0.0.1:5001-10.0.1.9:6009(0000000000000001)");
  EXPECT_EQ(hop.origin, "udp:10.0.0.1:5001-10.0.1.9:6009");
  EXPECT_EQ(hop.ready_ns, 160);
  EXPECT_EQ(hop.causes, std::vector<std::string>{"0000000000000001@s1/1/0"});
  // The second packet waited for the first: ready at 110, sent from 150 on.
  const ProvenanceEvent& waited = Find(events, "0000000000000002@s1/1/0");
  EXPECT_EQ(waited.ready_ns, 110);
  EXPECT_EQ(waited.start_ns, 150);
  EXPECT_EQ(waited.end_ns, 180);
  EXPECT_EQ(waited.holds->at(0).resource, "s1/1/0");
  EXPECT_EQ(passages.counts["not_fifo"], 0);
  ASSERT_EQ(events.trails.size(), 2u);
  EXPECT_EQ(events.trails[0].entry, "0000000000000001");
  EXPECT_EQ(events.trails[0].exit, "0000000000000001@s2/1/0");
}

TEST(PacketEvents, OvertakingIsCounted) {
  Passages passages;
  passages.Add(1, 1, "s1", 100, 400);  // came first, left last
  passages.Add(2, 2, "s1", 150, 200);
  passages.Add(3, 2, "s1", 160, 300);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(ContractBroken(events), "");
  EXPECT_EQ(passages.counts["not_fifo"], 1);
  EXPECT_EQ(Find(events, "0000000000000001@s1/1/0").start_ns, 300);
}

TEST(PacketEvents, OnePassageToldTwiceIsOne) {
  Passages passages;
  passages.Add(1, 1, "s1", 100, 150, 1);
  passages.Add(1, 1, "s1", 100, 150);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(events.events.size(), 2u);
  EXPECT_EQ(passages.counts["duplicates"], 1);
}

TEST(PacketEvents, AHopThatCannotHaveFollowedBeginsAnew) {
  Passages passages;
  passages.Add(1, 1, "s1", 100, 200);
  passages.Add(1, 1, "s2", 150, 250);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(ContractBroken(events), "");
  EXPECT_EQ(passages.counts["chain_breaks"], 1);
  EXPECT_EQ(events.events.size(), 4u);
}

TEST(PacketEvents, APacketInALoopHasAnEventEachTime) {
  Passages passages;
  passages.Add(1, 1, "s1", 100, 110);
  passages.Add(1, 1, "s2", 120, 130);
  passages.Add(1, 1, "s1", 140, 150);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(ContractBroken(events), "");
  EXPECT_EQ(events.events.size(), 4u);
}

TEST(PacketEvents, ClocksThatDisagreeAreMovedAsLittleAsNeeded) {
  Passages passages;
  passages.Add(1, 1, "s1", 1000, 1100, 1);
  passages.Add(1, 1, "s2", 700, 800, 2);  // its clock is behind by at least 400
  passages.Add(1, 1, "s3", 1350, 1400, 3);
  passages.Add(2, 1, "s1", 2000, 2100, 1);
  passages.Add(2, 1, "s2", 1750, 1800, 2);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(ContractBroken(events), "");
  EXPECT_EQ(passages.counts["clocks_moved"], 1);
  EXPECT_EQ(passages.counts["chain_breaks"], 0);
  EXPECT_EQ(Find(events, "0000000000000001@s2/1/0").end_ns, 1200);
  EXPECT_EQ(Find(events, "0000000000000001@s3/1/0").end_ns, 1400);
}

TEST(PacketEvents, ClocksThatContradictThemselvesStay) {
  Passages passages;
  passages.Add(1, 1, "s1", 1000, 1100, 1);
  passages.Add(1, 1, "s2", 900, 950, 2);
  passages.Add(2, 1, "s2", 5000, 5100, 1);
  passages.Add(2, 1, "s1", 4900, 4950, 2);
  const PacketEvents events = MakePacketEvents(passages);
  EXPECT_EQ(ContractBroken(events), "");
  EXPECT_EQ(passages.counts["clocks_contradict"], 1);
  EXPECT_EQ(passages.counts["clocks_moved"], 0);
  EXPECT_EQ(passages.counts["chain_breaks"], 2);
}

// Forged reports can give one packet any number of hops, each at a switch of its own or all at one.
TEST(PacketEvents, OnePacketAtManyQueuesTakesTimeInProportion) {
  const auto seconds = [](uint64_t hops) {
    double least = 1e9;
    for (int round = 0; round < 3; ++round) {
      Passages passages;
      for (uint64_t i = 0; i < hops; ++i)
        passages.Add(1, 1, std::to_string(i % (hops / 2)), static_cast<Nanos>(10 * i),
                     static_cast<Nanos>(10 * i + 5));
      timespec begin{}, end{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
      const PacketEvents events = MakePacketEvents(passages);
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
      EXPECT_EQ(events.events.size(), hops + 1);
      least = std::min(least, static_cast<double>(end.tv_sec - begin.tv_sec) +
                                  static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e9);
    }
    return least;
  };
  // Eight times the hops: eight times the time and a little, sorting included; 64 times if each looked at all others.
  const double few = seconds(10'000), many = seconds(80'000);
  EXPECT_LT(many, 24 * few);
}

TEST(PacketEvents, WhateverTheTimesTheContractHolds) {
  const bool holds = rc::check([] {
    Passages passages;
    const int count = *rc::gen::inRange(0, 60);
    for (int i = 0; i < count; ++i) {
      const Nanos in = *rc::gen::inRange<Nanos>(0, 40);
      passages.Add(*rc::gen::inRange<uint64_t>(1, 12), 1,
                   "s" + std::to_string(*rc::gen::inRange(1, 5)), in,
                   in + *rc::gen::inRange<Nanos>(0, 10), *rc::gen::inRange<uint32_t>(0, 4));
    }
    const PacketEvents events = MakePacketEvents(passages);
    RC_ASSERT(ContractBroken(events) == "");
    RC_ASSERT(passages.counts["events"] == static_cast<int64_t>(events.events.size()));
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace wf::packets
