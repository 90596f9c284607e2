#include "security/tenant_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::security {
namespace {

using testing::HasSubstr;

TEST(RateLimit, LetsOneThroughWholeAndThenWaits) {
  RateLimit limit(100, 100);
  const Nanos start = 1'000 * kSecond;
  EXPECT_EQ(limit.Take(1'000, start), 0);  // ten seconds' worth, at once
  const Nanos wait = limit.Take(1, start);
  EXPECT_GE(wait, 9 * kSecond);
  EXPECT_LE(wait, 10 * kSecond);
  EXPECT_NE(limit.Take(1, start + 8 * kSecond), 0);
  EXPECT_EQ(limit.Take(1, start + wait), 0);
}

TEST(RateLimit, HoldsNoMoreThanItsBurst) {
  RateLimit limit(10, 10);
  const Nanos start = 1'000 * kSecond;
  int taken = 0;
  for (Nanos now : {start, start + kHour})
    while (limit.Take(1, now) == 0) ++taken;
  EXPECT_EQ(taken, 20);
  EXPECT_NE(limit.Take(1, start), 0);  // a clock that goes back adds nothing
}

TEST(RateLimit, OfAShareLessFlowsInAndLessIsHeld) {
  RateLimit limit(100, 100);
  const Nanos start = 1'000 * kSecond;
  limit.SetShare(0.25);
  EXPECT_EQ(limit.Take(100, start), 0);  // 25 were left
  const Nanos wait = limit.Take(1, start);
  EXPECT_GE(wait, 3 * kSecond);
  EXPECT_LE(wait, 3 * kSecond + 10 * kMilli);
  limit.SetShare(1);
  EXPECT_EQ(limit.Take(1, start + kSecond), 0);
}

TEST(RateLimit, KnowsWhatWasAskedForLately) {
  RateLimit limit(10, 10);
  const Nanos start = 1'000 * kSecond;
  EXPECT_EQ(limit.Demand(start), 0);
  for (int second = 0; second < 8; ++second) (void)limit.Take(30, start + second * kSecond);
  EXPECT_NEAR(limit.Demand(start + 8 * kSecond), 3, 0.01) << "given or not";
  // A sender that sends every five seconds has the same demand as one that sends all the time.
  EXPECT_NEAR(limit.Demand(start + 9 * kSecond), 2.7, 0.1);
  EXPECT_EQ(limit.Demand(start + 20 * kSecond), 0);
}

class TenantLimitsTest : public testing::Test {
 protected:
  TenantLimitsTest() {
    TenantQuotas shop;
    shop.spans_per_second = 100;
    shop.bytes_per_second = 1000;
    shop.questions_per_second = 1;
    shop.request_bytes = 5000;
    shop.stored_bytes = 1'000'000;
    TenantQuotas others;
    others.spans_per_second = 1;
    limits_.SetQuotas({{"shop", shop}, {"*", others}});
  }
  TenantLimits limits_;
};

TEST_F(TenantLimitsTest, EachTenantHasItsOwn) {
  EXPECT_FALSE(limits_.AdmitSpans("shop", 500, 0));
  const auto refused = limits_.AdmitSpans("shop", 1, 0);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->HttpStatus(), 429);
  EXPECT_GE(std::stoi(refused->RetryAfter()), 3);
  EXPECT_THAT(refused->error.message, HasSubstr("100 spans per second"));
  EXPECT_FALSE(limits_.AdmitSpans("garage", 500, 0));
  EXPECT_FALSE(limits_.AdmitSpans("kitchen", 500, 0));
  EXPECT_TRUE(limits_.AdmitSpans("garage", 1, 0));
  EXPECT_EQ(limits_.Counted("shop").at("limited_spans_per_second"), 1);
  EXPECT_TRUE(limits_.Counted("kitchen").empty());
}

TEST_F(TenantLimitsTest, WhatIsTooLargeIsNeverTakenAndWhatIsTooFullLater) {
  const auto large = limits_.AdmitBytes("shop", 5001);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->HttpStatus(), 413);
  EXPECT_FALSE(limits_.AdmitBytes("shop", 4000));
  EXPECT_EQ(limits_.AdmitBytes("shop", 1)->HttpStatus(), 429);
  limits_.SetStored("garage", int64_t{1} << 50);
  EXPECT_FALSE(limits_.AdmitBytes("garage", 1));  // there is no such limit
  TenantQuotas full;
  full.stored_bytes = 10;
  limits_.SetQuotas({{"shop", full}});
  EXPECT_FALSE(limits_.AdmitBytes("shop", 1));
  limits_.SetStored("shop", 10);
  const auto refused = limits_.AdmitBytes("shop", 1);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->RetryAfter(), "60");
}

TEST_F(TenantLimitsTest, RefusedSpansGiveTheirBytesBack) {
  EXPECT_FALSE(limits_.AdmitSpans("shop", 500, 0));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(limits_.AdmitBytes("shop", 900));
    EXPECT_TRUE(limits_.AdmitSpans("shop", 1, 900));
  }
}

// Rates that several processes divide (rate_shares.h).
TEST_F(TenantLimitsTest, TellsWhatIsAskedOfItAndKeepsToItsShare) {
  EXPECT_TRUE(limits_.Demands().empty());
  EXPECT_FALSE(limits_.AdmitSpans("shop", 500, 0));
  EXPECT_FALSE(limits_.AdmitQuestion("garage"));  // there is no such limit
  const auto demands = limits_.Demands();
  ASSERT_EQ(demands.size(), 1u);
  ASSERT_EQ(demands.at("shop").size(), 1u);
  EXPECT_NEAR(demands.at("shop").at("spans_per_second"), 5, 0.1);
  limits_.SetShares([](const std::string& tenant, const std::string& limit) {
    return tenant == "shop" && limit == "spans_per_second" ? 0.5 : 1;
  });
  // The overdraft of 400 is refilled at 50 a second.
  const auto refused = limits_.AdmitSpans("shop", 1, 0);
  ASSERT_TRUE(refused);
  EXPECT_GE(std::stoi(refused->RetryAfter()), 7);
}

TEST_F(TenantLimitsTest, MetricsTellAllOrOne) {
  limits_.Count("shop", "events_accepted", 3);
  limits_.Count("garage", "events_accepted", 4);
  const std::string all = limits_.MetricsText(std::nullopt, pipeline::MetricsFormat::kPrometheus);
  EXPECT_THAT(all, HasSubstr("wherefore_tenant_events_accepted{tenant=\"shop\"} 3\n"));
  EXPECT_THAT(all, HasSubstr("wherefore_tenant_events_accepted{tenant=\"garage\"} 4\n"));
  const std::string one = limits_.MetricsText("shop", pipeline::MetricsFormat::kPrometheus);
  EXPECT_THAT(one, HasSubstr("\"shop\"} 3"));
  EXPECT_THAT(one, testing::Not(HasSubstr("garage")));
}

TEST(TenantLimits, InventedTenantsAreBounded) {
  TenantLimits limits;
  for (int i = 0; i < 12'000; ++i) limits.Count("t" + std::to_string(i), "events_accepted", 1);
  EXPECT_GE(limits.Counted("other").at("events_accepted"), 1'900);
}

}  // namespace
}  // namespace wf::security
