#include "pipeline/fair_queues.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace wf {
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

}  // namespace
}  // namespace wf
