#include "advice/emitted_events.h"

#include <gtest/gtest.h>

#include "advice/advice_test_support.h"

namespace wf::advice {
namespace {

Program TwoPlaces() {
  Pack pack{0, Keep::kAll, 0, {{Column(0)}, {}}};
  Emit emit{{{Column(0)}, {}}, false, {Column(0)}};
  return MakeProgram({{{"b.begin", "a.begin"}, {Observe{{"n", "host", "list"}}, pack}},
                      {{"end", "a.begin"}, {Observe{{"k"}}, Unpack{0, false, {}}, emit}}});
}

TEST(EmittedEvents, PlacesAreTheTracepointsByNameWithWhatIsReadThere) {
  const auto places = EmittedPlaces(TwoPlaces());
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].tracepoint, "a.begin");
  EXPECT_EQ(places[0].variables, (std::vector<std::string>{"k", "list", "n"}));
  EXPECT_EQ(places[1].variables, (std::vector<std::string>{"list", "n"}));
  EXPECT_EQ(places[2].variables, (std::vector<std::string>{"k"}));
}

std::string Bytes() {
  std::string bytes;
  AppendEvent({7, -5, 2, {}, {List{Value(int64_t{1}), Value(std::string("two"))}, Value(2.5)}},
              bytes);
  AppendEvent({8, 1'700'000'000'000'000'000, 0, {7, kLostPast}, {}}, bytes);
  AppendEvent({UINT64_MAX, 3, 3, {8}, {Value(std::string("text"))}}, bytes);
  return bytes;
}

TEST(EmittedEvents, ComeBackAsTheyWereAppended) {
  std::vector<EmittedEvent> events;
  ASSERT_TRUE(DecodeEvents(Bytes(), EmittedPlaces(TwoPlaces()), events));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].time_ns, -5);
  ASSERT_EQ(events[0].values.size(), 2u);
  EXPECT_TRUE(Identical(events[0].values[0], List{Value(int64_t{1}), Value(std::string("two"))}));
  EXPECT_TRUE(Identical(events[0].values[1], Value(2.5)));
  EXPECT_EQ(events[1].place, 0u);
  EXPECT_EQ(events[1].after, (std::vector<uint64_t>{7, kLostPast}));
  EXPECT_EQ(events[2].id, UINT64_MAX);
  ASSERT_EQ(events[2].values.size(), 1u);
  EXPECT_TRUE(Identical(events[2].values[0], Value(std::string("text"))));
}

TEST(EmittedEvents, WhatIsNoneIsRefused) {
  const auto places = EmittedPlaces(TwoPlaces());
  const std::string bytes = Bytes();
  size_t whole = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    std::vector<EmittedEvent> events;
    whole += DecodeEvents(std::string_view(bytes).substr(0, size), places, events);
  }
  EXPECT_EQ(whole, 2u) << "cut between events";
  std::vector<EmittedEvent> events;
  std::string other_place, no_id;
  AppendEvent({7, 0, 4, {}, {}}, other_place);
  AppendEvent({kLostPast, 0, 0, {}, {}}, no_id);
  EXPECT_FALSE(DecodeEvents(other_place, places, events));
  EXPECT_FALSE(DecodeEvents(no_id, places, events));
}

}  // namespace
}  // namespace wf::advice
