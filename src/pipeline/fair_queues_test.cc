#include "pipeline/fair_queues.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace wf::pipeline {
namespace {

// Keeps every queue full and takes `rounds` items, charging each owner what his items cost.
std::map<std::string, Nanos> UseUntilDone(const std::map<std::string, Nanos>& costs, int rounds) {
  FairQueues<int> queues(5);
  std::map<std::string, Nanos> used;
  std::mt19937 random(1);
  for (int i = 0; i < rounds; ++i) {
    for (const auto& [owner, cost] : costs) {
      for (int item = 1; queues.TryPush(owner, item);) {
      }
    }
    auto taken = queues.TryTake();
    if (!taken) break;
    const Nanos cost = std::uniform_int_distribution<Nanos>(1, 2 * costs.at(taken->owner))(random);
    queues.Charge(taken->owner, cost);
    used[taken->owner] += cost;
  }
  return used;
}

TEST(FairQueuesTest, CpuIsSharedEquallyWhateverItemsCost) {
  const auto used =
      UseUntilDone({{"cheap", 50 * kMicro}, {"dear", 20 * kMilli}, {"middle", kMilli}}, 200'000);
  ASSERT_EQ(used.size(), 3u);
  const Nanos most = std::max({used.at("cheap"), used.at("dear"), used.at("middle")});
  const Nanos least = std::min({used.at("cheap"), used.at("dear"), used.at("middle")});
  EXPECT_LT(static_cast<double>(most) / static_cast<double>(least), 1.05);
}

TEST(FairQueuesTest, AnIdleOwnerSavesNothing) {
  FairQueues<int> queues(1000);
  for (int i = 0; i < 1000; ++i) {
    int item = i;
    ASSERT_TRUE(queues.TryPush("busy", item));
  }
  for (int i = 0; i < 500; ++i) queues.Charge(queues.TryTake()->owner, kMilli);
  // Comes after half a second of the other's work, and may not have that for himself now.
  for (int i = 0; i < 400; ++i) {
    int item = i;
    ASSERT_TRUE(queues.TryPush("late", item));
  }
  int late = 0;
  for (int i = 0; i < 100; ++i) {
    const auto taken = queues.TryTake();
    late += taken->owner == "late";
    queues.Charge(taken->owner, kMilli);
  }
  EXPECT_GE(late, 45);
  EXPECT_LE(late, 55);
}

TEST(FairQueuesTest, AFullQueueRefusesItsOwnerAlone) {
  FairQueues<int> queues(2);
  int item = 7;
  EXPECT_TRUE(queues.TryPush("a", item));
  EXPECT_TRUE(queues.TryPush("a", item));
  EXPECT_FALSE(queues.TryPush("a", item));
  EXPECT_EQ(item, 7);  // left alone
  EXPECT_TRUE(queues.TryPush("b", item));
  const auto loads = queues.Loads();
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(loads[0].refused, 1);
  EXPECT_EQ(loads[0].queued, 2u);
  EXPECT_EQ(loads[1].refused, 0);
}

TEST(FairQueuesTest, OneHugeDebtDoesNotStopTheOnlyOwner) {
  FairQueues<int> queues(10);
  int item = 1;
  ASSERT_TRUE(queues.TryPush("a", item));
  ASSERT_TRUE(queues.TryPush("a", item));
  queues.Charge(queues.TryTake()->owner, kHour);
  EXPECT_TRUE(queues.TryTake().has_value());
  EXPECT_FALSE(queues.TryTake().has_value());
}

// Everyone's queue is kept full; how many items of each owner leave in `time`, asked for every ten milliseconds.
std::map<std::string, int> LeaveWithin(FairQueues<int>& queues, Nanos& now, Nanos time,
                                       const std::vector<std::string>& owners) {
  std::map<std::string, int> left;
  for (const Nanos end = now + time; now < end; now += 10 * kMilli) {
    for (const std::string& owner : owners) {
      for (int item = 1; queues.TryPush(owner, item);) {
      }
    }
    while (const auto taken = queues.TryTake()) {
      ++left[taken->owner];
      queues.Charge(taken->owner, kMilli);
    }
  }
  return left;
}

TEST(FairQueuesTest, ARateHoldsForEachOwner) {
  Nanos now = kHour;
  FairQueues<int> queues(5, {5, [&] { return now; }});
  // After a pause a second's items at once, then as the rate says.
  EXPECT_EQ(LeaveWithin(queues, now, 10 * kMilli, {"a"}), (std::map<std::string, int>{{"a", 5}}));
  EXPECT_EQ(LeaveWithin(queues, now, 10 * kSecond, {"a", "b"}),
            (std::map<std::string, int>{{"a", 50}, {"b", 54}}));
  for (const OwnerLoad& load : queues.Loads()) {
    EXPECT_GE(load.queued, 4u) << load.owner;
    EXPECT_GT(load.refused, 0) << load.owner;
  }
  now += kHour;  // nobody saves more than a second's
  EXPECT_EQ(LeaveWithin(queues, now, 10 * kMilli, {"a"})["a"], 5);
}

TEST(FairQueuesTest, ARateBelowOneASecondIsOneAtATime) {
  Nanos now = kHour;
  FairQueues<int> queues(5, {0.5, [&] { return now; }});
  EXPECT_EQ(LeaveWithin(queues, now, 20 * kSecond, {"a"})["a"], 10);
}

TEST(FairQueuesTest, WhoWaitsForTheRateGetsTheItemWhenItIsTime) {
  FairQueues<int> queues(22, {20, MonotonicNow});
  for (int i = 0; i < 22; ++i) {
    int item = i;
    ASSERT_TRUE(queues.TryPush("a", item));
  }
  const Nanos began = MonotonicNow();
  for (int i = 0; i < 22; ++i) {
    const auto taken = queues.Take(kMinute);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->item, i);
  }
  EXPECT_GE(MonotonicNow() - began, 99 * kMilli);  // 20 at once, then one every 50 ms
  EXPECT_FALSE(queues.Take(kMilli).has_value());
}

}  // namespace
}  // namespace wf::pipeline
