#include "live/emitted_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "live/live_query_lab_test.h"
#include "live/query_intervals.h"

namespace wf::live {
namespace {

using live_testing::Compiled;
using Rest = EmittedEvents::Rest;

constexpr char kItems[] =
    "From s In Sum Join i In Item On i -> s GroupBy i.kind Select i.kind, SUM(i.n), COUNT";
// By name: Item has kind and n, Sum has no values.
constexpr uint32_t kItem = 1, kSum = 2;
constexpr Nanos kStart = 1'700'000'000 * kSecond;

std::string Item(uint64_t id, std::vector<uint64_t> after, const std::string& kind, int64_t n,
                 Nanos time = kStart) {
  std::string bytes;
  advice::AppendEvent({id, time, kItem, std::move(after), {advice::Value(kind), advice::Value(n)}},
                      bytes);
  return bytes;
}
std::string Sum(uint64_t id, std::vector<uint64_t> after, Nanos time = kStart) {
  std::string bytes;
  advice::AppendEvent({id, time, kSum, std::move(after), {}}, bytes);
  return bytes;
}
std::string Link(uint64_t id, std::vector<uint64_t> after) {
  std::string bytes;
  advice::AppendEvent({id, kStart, 0, std::move(after), {}}, bytes);
  return bytes;
}

class EmittedEventsTest : public testing::Test {
 protected:
  void Come(const std::string& bytes, Nanos now = kStart) {
    ASSERT_TRUE(events_.Take({"h", "s", 1}, bytes, now));
  }
  // kind → (sum, count) of one interval, or of all.
  using Rows = std::map<std::string, std::pair<int64_t, int64_t>>;
  Rows Evaluate(Nanos now = kStart, Rest rest = Rest::kMayCome) {
    advice::Results all(*program_);
    const auto evaluated = events_.Evaluate(now, rest, kMinute);
    uint64_t lost = 0;
    for (const auto& [start, part] : evaluated.parts) {
      EXPECT_TRUE(all.Merge(part.partial));
      lost += part.lost;
      starts_.push_back(start);
    }
    EXPECT_EQ(lost, evaluated.lost.past + evaluated.lost.room + evaluated.lost.work);
    lost_ += lost;
    losses_.past += evaluated.lost.past;
    losses_.room += evaluated.lost.room;
    losses_.work += evaluated.lost.work;
    Rows rows;
    for (const auto& row : all.Rows())
      rows[std::get<std::string>(row[0])] = {std::get<int64_t>(row[1]), std::get<int64_t>(row[2])};
    return rows;
  }
  const std::shared_ptr<const advice::Program> program_ = Compiled(kItems);
  const std::shared_ptr<EmittedMemory> memory_ = std::make_shared<EmittedMemory>();
  static constexpr EmittedLimits kLimits{5 * kSecond, 60 * kSecond, 1 << 20, 3'000, 3'000'000};
  EmittedEvents events_{program_, kSecond, memory_, kLimits};
  uint64_t lost_ = 0;
  EmittedEvents::Losses losses_;
  std::vector<Nanos> starts_;
};

TEST_F(EmittedEventsTest, ARequestIsJoinedOnceHoweverItsEventsCome) {
  std::mt19937 random(1);
  std::vector<std::string> parts = {Item(1, {}, "a", 1),  Item(2, {1}, "a", 10),
                                    Item(3, {1}, "b", 5), Link(4, {2, 3}),
                                    Sum(5, {4}),          Sum(6, {5, 2})};
  for (int i = 0; i < 200; ++i) {
    std::shuffle(parts.begin(), parts.end(), random);
    EmittedEvents events(program_, kSecond, memory_);
    advice::Results all(*program_);
    uint64_t lost = 0;
    for (const std::string& part : parts) {
      ASSERT_TRUE(events.Take({"h", "s", 1}, part, kStart));
      ASSERT_TRUE(events.Take({"h", "s", 1}, part, kStart));  // a duplicate
      for (const auto& [start, more] : events.Evaluate(kStart, Rest::kMayCome, kMinute).parts) {
        ASSERT_TRUE(all.Merge(more.partial));
        lost += more.lost;
      }
    }
    const auto rows = all.Rows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(std::get<int64_t>(rows[0][1]), 22);
    EXPECT_EQ(std::get<int64_t>(rows[0][2]), 4);
    EXPECT_EQ(std::get<int64_t>(rows[1][1]), 10);
    EXPECT_EQ(lost, 0u);
    EXPECT_FALSE(events.waiting());
  }
}

TEST_F(EmittedEventsTest, RowsGoIntoTheIntervalOfTheFromEvent) {
  Come(Item(1, {}, "a", 1, kStart - 5 * kSecond) + Sum(2, {1}, kStart + kSecond / 2) +
       Sum(3, {2}, kStart + 3 * kSecond));
  EXPECT_EQ(Evaluate(), (Rows{{"a", {2, 2}}}));
  EXPECT_EQ(starts_, (std::vector<Nanos>{kStart, kStart + 3 * kSecond}));
}

TEST_F(EmittedEventsTest, ParallelBranchesAndOtherRequestsDoNotJoin) {
  Come(Item(1, {}, "a", 1) + Item(2, {1}, "a", 2) + Sum(3, {1}) + Item(4, {}, "a", 100));
  EXPECT_EQ(Evaluate(), (Rows{{"a", {1, 1}}}));
}

TEST_F(EmittedEventsTest, AnEventWhosePastDoesNotComeIsLostAndNotWrong) {
  Come(Item(1, {}, "a", 1) + Sum(3, {1, 2}) + Sum(4, {3}));
  EXPECT_EQ(Evaluate(kStart + kSecond), Rows{});
  EXPECT_EQ(lost_, 0u);
  Come(Item(7, {}, "z", 1) + Sum(8, {7}), kStart + 10 * kSecond);
  EXPECT_EQ(Evaluate(kStart + 10 * kSecond), (Rows{{"z", {1, 1}}}));
  EXPECT_EQ(lost_, 2u);
  Come(Item(2, {}, "a", 2), kStart + 11 * kSecond);
  EXPECT_EQ(Evaluate(kStart + 11 * kSecond), Rows{}) << "it was counted as lost";
}

TEST_F(EmittedEventsTest, AProcessThatLostThePastSaysSo) {
  Come(Item(1, {}, "a", 1) + Sum(2, {advice::kLostPast, 1}));
  EXPECT_EQ(Evaluate(), Rows{});
  EXPECT_EQ(lost_, 1u);
  EXPECT_EQ(losses_.past, 1u);
}

TEST_F(EmittedEventsTest, AtTheEndWhatWaitsIsLost) {
  Come(Sum(2, {1}));
  EXPECT_EQ(Evaluate(kStart, Rest::kIsLost), Rows{});
  EXPECT_EQ(lost_, 1u);
}

TEST_F(EmittedEventsTest, EventsInACircleAreLost) {
  Come(Item(1, {2}, "a", 1) + Item(2, {1}, "a", 1) + Item(3, {3}, "a", 1));
  EXPECT_EQ(Evaluate(kStart, Rest::kIsLost), Rows{});
  EXPECT_EQ(lost_, 3u);
}

TEST_F(EmittedEventsTest, QuietRequestsAreForgotten) {
  Come(Item(1, {}, "a", 1));
  Come(Item(10, {}, "b", 1), kStart + 50 * kSecond);
  (void)Evaluate(kStart + 61 * kSecond);
  EXPECT_EQ(events_.events(), 1u);
  Come(Sum(2, {1}) + Sum(11, {10}), kStart + 62 * kSecond);
  EXPECT_EQ(Evaluate(kStart + 63 * kSecond), (Rows{{"b", {1, 1}}}));
  EXPECT_EQ(lost_, 0u);
  EXPECT_EQ(Evaluate(kStart + 90 * kSecond), Rows{});
  EXPECT_EQ(lost_, 1u);
}

TEST_F(EmittedEventsTest, ALongRequestIsRunAsItGrows) {
  std::string bytes;
  uint64_t id = 0;
  int64_t sum = 0;
  Rows all;
  for (int batch = 0; batch < 5; ++batch) {
    for (int i = 0; i < 400; ++i) {
      ++id;
      bytes += Item(id, id == 1 ? std::vector<uint64_t>{} : std::vector<uint64_t>{id - 1}, "a", 1);
    }
    ++id;
    bytes += Sum(id, {id - 1});
    sum += 400 * (batch + 1);
    Come(std::exchange(bytes, ""));
    const Rows rows = Evaluate();
    all["a"].first += rows.at("a").first;
  }
  EXPECT_EQ(all["a"].first, sum);
}

TEST_F(EmittedEventsTest, PastTheRoomEventsAreCountedAndTheQuietestRequestsGo) {
  const auto request = [](uint64_t first) {
    std::string bytes = Item(first, {}, std::string(1'000, 'x'), 1);
    for (uint64_t id = first + 1; id < first + 100; ++id)
      bytes += Item(id, {id - 1}, std::string(1'000, 'x'), 1);
    return bytes;
  };
  for (uint64_t i = 0; i < 7; ++i) Come(request(i * 1'000 + 1), kStart + static_cast<Nanos>(i));
  EXPECT_GT(events_.bytes(), kLimits.bytes / 4 * 3);
  EXPECT_EQ(memory_->used, events_.bytes());
  (void)Evaluate();
  EXPECT_LE(events_.bytes(), kLimits.bytes / 2);
  EXPECT_EQ(lost_, 0u) << "all of them were looked at";
  Come(Sum(10'000, {6'100}));
  EXPECT_EQ(Evaluate().size(), 1u) << "the last one is still there";
  // More than there is room for, before the first evaluation.
  for (uint64_t i = 20; i < 40; ++i) Come(request(i * 1'000 + 1));
  EXPECT_LE(events_.bytes(), kLimits.bytes);
  (void)Evaluate();
  EXPECT_GT(losses_.room, 0u);
  EXPECT_EQ(losses_.room % 100, 0u) << "by reports";
  EXPECT_EQ(losses_.past + losses_.work, 0u);
  EXPECT_EQ(memory_->used, events_.bytes());
}

TEST_F(EmittedEventsTest, ARequestOfTooManyTuplesIsLostFromThereOn) {
  // Each Sum unpacks as many tuples as there are kinds: the first few fit.
  std::string bytes;
  uint64_t id = 0;
  for (int i = 0; i < 1'000; ++i) {
    ++id;
    bytes += Item(id, id == 1 ? std::vector<uint64_t>{} : std::vector<uint64_t>{id - 1},
                  "k" + std::to_string(i), 1);
  }
  EmittedLimits limits;
  limits.work = 10'000;
  EmittedEvents events(program_, kSecond, memory_, limits);
  for (int i = 0; i < 20; ++i, ++id) bytes += Sum(id + 1, {id});
  ASSERT_TRUE(events.Take({"h", "s", 1}, bytes, kStart));
  const auto evaluated = events.Evaluate(kStart, Rest::kMayCome, kMinute);
  EXPECT_GT(evaluated.lost.work, 10u);
  EXPECT_LT(evaluated.lost.work, 20u);
  advice::Results results(*program_);
  ASSERT_EQ(evaluated.parts.size(), 1u);
  ASSERT_TRUE(results.Merge(evaluated.parts.begin()->second.partial));
  ASSERT_EQ(results.Rows().size(), 1'000u);
  EXPECT_EQ(std::get<int64_t>(results.Rows()[0][2]),
            static_cast<int64_t>(20 - evaluated.lost.work));
  // It is not run again.
  ASSERT_TRUE(events.Take({"h", "s", 1}, Sum(id + 1, {id}), kStart));
  EXPECT_EQ(events.Evaluate(kStart, Rest::kMayCome, kMinute).lost.work, 1u);
}

TEST_F(EmittedEventsTest, AnEvaluationEndsWithItsTimeAndGoesOnWhereItWas) {
  for (uint64_t id = 1; id < 100; id += 2) Come(Item(id, {}, "a", 1) + Sum(id + 1, {id}));
  int64_t count = 0;
  int rounds = 0;
  for (bool more = true; more && rounds < 1'000; ++rounds) {
    // At least one request each time, so that it ends.
    const auto evaluated = events_.Evaluate(kStart, Rest::kMayCome, 0);
    for (const auto& [start, part] : evaluated.parts) {
      advice::Results results(*program_);
      ASSERT_TRUE(results.Merge(part.partial));
      for (const auto& row : results.Rows()) count += std::get<int64_t>(row[2]);
    }
    EXPECT_EQ(evaluated.lost.work, 0u);
    more = evaluated.more;
    EXPECT_EQ(events_.waiting(), more);
  }
  EXPECT_EQ(count, 50);
  EXPECT_GT(rounds, 1);
  // The last evaluation must finish everything.
  for (uint64_t id = 1'001; id < 1'100; id += 2) Come(Item(id, {}, "a", 1) + Sum(id + 1, {id}));
  const auto last = events_.Evaluate(kStart, Rest::kIsLost, 0);
  EXPECT_FALSE(last.more);
  EXPECT_EQ(last.lost.work, 98u) << "one request was looked at";
}

TEST_F(EmittedEventsTest, TimesFromEverywhereTakeNoMemory) {
  std::string bytes;
  for (uint64_t id = 1; id <= 2'400; id += 2)
    bytes += Item(id, {}, "a", 1) + Sum(id + 1, {id}, kStart + static_cast<Nanos>(id) * kMinute);
  Come(bytes);
  (void)Evaluate();
  EXPECT_LE(starts_.size(), QueryIntervals::kMostOpen + 1);
  EXPECT_GT(losses_.room, 100u);
}

TEST_F(EmittedEventsTest, WhatAreNoEventsIsRefused) {
  EXPECT_FALSE(events_.Take({"h", "s", 1}, "\x09", kStart));
  EXPECT_FALSE(events_.Take({"h", "s", 1}, Item(1, {}, "a", 1).substr(0, 12), kStart));
  EXPECT_EQ(events_.events(), 0u);
}

}  // namespace
}  // namespace wf::live
