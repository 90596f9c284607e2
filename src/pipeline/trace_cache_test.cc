#include "pipeline/trace_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/batch_builder.h"

namespace wf::pipeline {
namespace {

constexpr Nanos kWall = 1'800'000'000 * kSecond;  // traces begin then, and later than the cache

std::shared_ptr<const EventBatch> Batch(const std::vector<std::pair<uint64_t, uint64_t>>& spans,
                                        const std::string& service = "shop") {
  store::BatchBuilder b;
  b.Process(service);
  for (const auto& [trace, span] : spans) b.Span({9, trace}, span, 0, kWall, 10);
  b.Received(kWall);
  return std::make_shared<const EventBatch>(b.Take());
}

class TraceCacheTest : public ::testing::Test {
 protected:
  void Make(CacheOptions options) {
    cache_ = std::make_unique<TraceCache>(std::move(options), kWall - kHour);
  }
  std::vector<TraceCache::Refusal> Add(const std::shared_ptr<const EventBatch>& batch, Nanos now) {
    return cache_->Add(batch, ledger_.At(kWall), now);
  }
  std::vector<uint64_t> Due(Nanos now) {
    std::vector<uint64_t> out;
    for (const DueTrace& due : cache_->TakeDue(now, 1000)) out.push_back(due.key.id.lo);
    return out;
  }
  // How many events are there to build from; -1: gone.
  int Events(uint64_t trace) {
    const auto taken = cache_->Take({"default", {9, trace}});
    return taken ? static_cast<int>(taken->rows.size()) : -1;
  }

  ProgressLedger ledger_;
  std::unique_ptr<TraceCache> cache_;
};

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(TraceCacheTest, TimeoutBeginsAgainWithEveryEventButEnds) {
  Make({});
  Add(Batch({{1, 1}}), 0);
  EXPECT_THAT(Due(9 * kSecond), IsEmpty());
  for (Nanos t = 9; t <= 54; t += 9) {
    Add(Batch({{1, static_cast<uint64_t>(t)}}), t * kSecond);
    EXPECT_THAT(Due(t * kSecond), IsEmpty());
  }
  EXPECT_THAT(Due(59 * kSecond), IsEmpty());
  EXPECT_THAT(Due(60 * kSecond), ElementsAre(1));  // not 64 s: at most 60 after the first
  EXPECT_EQ(Events(1), 7);
  EXPECT_THAT(Due(kHour), IsEmpty());
}

TEST_F(TraceCacheTest, EachTriggerIsScheduledOncePerTrace) {
  CacheOptions options;
  options.triggers = {*ParseTrigger("any 10s after first"),
                      *ParseTrigger("mail 20s after first when service=mail")};
  Make(options);
  Add(Batch({{1, 1}, {1, 2}, {2, 1}}), 0);
  Add(Batch({{1, 3}, {1, 4}}, "mail"), 5 * kSecond);
  Add(Batch({{1, 5}}, "mail"), 6 * kSecond);
  EXPECT_EQ(cache_->Counts().scheduled, 3);
  EXPECT_THAT(Due(10 * kSecond), UnorderedElementsAre(1, 2));
  EXPECT_THAT(Due(25 * kSecond), ElementsAre(1));
  EXPECT_THAT(Due(kHour), IsEmpty());
}

TEST_F(TraceCacheTest, LateEventsScheduleAgain) {
  Make({});
  Add(Batch({{1, 1}}), 0);
  ASSERT_THAT(Due(10 * kSecond), ElementsAre(1));
  EXPECT_EQ(Events(1), 1);
  Add(Batch({{1, 2}}), 30 * kSecond);
  ASSERT_THAT(Due(40 * kSecond), ElementsAre(1));
  const auto again = cache_->Take({"default", {9, 1}});
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->processed_before);
  EXPECT_EQ(again->rows.size(), 2u);
  EXPECT_EQ(cache_->Counts().rescheduled_late, 1);
}

TEST_F(TraceCacheTest, ExpiredTracesStayGone) {
  Make({});
  Add(Batch({{1, 1}}), 0);
  Due(10 * kSecond);
  EXPECT_EQ(Events(1), 1);
  cache_->Expire(2 * kMinute - 1);
  EXPECT_EQ(cache_->Counts().traces, 1u);
  cache_->Expire(2 * kMinute);
  EXPECT_EQ(cache_->Counts().traces, 0u);
  EXPECT_EQ(cache_->Counts().bytes, 0u);
  // A late event triggers, but must not pass for the whole trace.
  Add(Batch({{1, 2}}), 3 * kMinute);
  ASSERT_THAT(Due(4 * kMinute), ElementsAre(1));
  EXPECT_EQ(Events(1), -1);
  EXPECT_EQ(cache_->Counts().before_start, 0);
  EXPECT_EQ(cache_->Counts().events_uncached, 1);
}

TEST_F(TraceCacheTest, ExpiryBeforeTheTimeoutStillFiresIt) {
  CacheOptions options;
  options.triggers = {*ParseTrigger("build 1d after first")};
  Make(options);
  Add(Batch({{1, 1}}), 0);
  cache_->Expire(kHour);
  EXPECT_EQ(cache_->Counts().traces, 0u);
  EXPECT_THAT(Due(kDay), ElementsAre(1));
  EXPECT_EQ(Events(1), -1);
}

TEST_F(TraceCacheTest, TheBudgetEvictsTheLeastRecentlyUsed) {
  CacheOptions options;
  options.bytes = 64 << 10;
  Make(options);
  Add(Batch({{1, 1}}), 0);
  Add(Batch({{2, 1}}), 1);
  for (uint64_t i = 0; i < 200; ++i) {
    Add(Batch({{100 + i, 1}}), static_cast<Nanos>(2 + i));
    Add(Batch({{1, 2 + i}}), static_cast<Nanos>(2 + i));  // stays in use
    ASSERT_LE(cache_->Counts().bytes, options.bytes);
  }
  EXPECT_GT(cache_->Counts().evicted, 0);
  const auto due = Due(kMinute);
  EXPECT_EQ(due.size(), 202u);  // evicted or not: nobody is forgotten
  EXPECT_EQ(Events(2), -1);
  EXPECT_EQ(Events(299), 1);
}

TEST_F(TraceCacheTest, ATraceThatBeganBeforeTheMemoryIsNotTrusted) {
  cache_ = std::make_unique<TraceCache>(CacheOptions(), kWall + kMinute);
  Add(Batch({{1, 1}}), 0);
  Due(10 * kSecond);
  EXPECT_EQ(Events(1), -1);
  EXPECT_EQ(cache_->Counts().before_start, 1);
}

TEST_F(TraceCacheTest, TooManyEventsAreRefusedOnceAndRememberedAcrossExpiry) {
  CacheOptions options;
  options.max_events_per_trace = 640;
  Make(options);
  const auto some = [](uint64_t first, uint64_t count) {
    std::vector<std::pair<uint64_t, uint64_t>> spans;
    for (uint64_t i = 0; i < count; ++i) spans.push_back({1, first + i});
    return Batch(spans);
  };
  EXPECT_THAT(Add(some(1, 600), 0), IsEmpty());
  cache_->Expire(kHour);
  EXPECT_THAT(Add(some(1000, 40), kHour), IsEmpty());
  const auto refused = Add(some(2000, 10), kHour + 1);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].reason, TraceCache::Refusal::Reason::kEvents);
  EXPECT_THAT(Add(some(3000, 10), kHour + 2), IsEmpty());
}

TEST_F(TraceCacheTest, ATraceOlderThanItsDomainsLimitIsRefused) {
  CacheOptions options;
  options.triggers = {*ParseTrigger("live 10s after last limit 1h"),
                      *ParseTrigger("build 1d after first limit 7d when service=build")};
  Make(options);
  Add(Batch({{1, 1}}), 0);
  Add(Batch({{2, 1}}, "build"), 0);
  for (Nanos t = 0; t < kHour; t += kMinute) {
    Add(Batch({{1, 2}}), t);
    Add(Batch({{2, 2}}), t);
    Due(t);
  }
  EXPECT_THAT(Add(Batch({{2, 3}}), kHour + kMinute), IsEmpty());  // the build may go on
  const auto refused = Add(Batch({{1, 3}}), kHour + kMinute);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].key.id.lo, 1u);
  EXPECT_EQ(refused[0].reason, TraceCache::Refusal::Reason::kAge);
}

TEST_F(TraceCacheTest, WhatNobodyComesForIsGone) {
  Make({});
  Add(Batch({{1, 1}, {2, 1}}), 0);
  EXPECT_THAT(Due(kMinute), ElementsAre(1, 2));
  const size_t before = cache_->Counts().bytes;
  cache_->LetGo({"default", {9, 1}});
  EXPECT_LT(cache_->Counts().bytes, before);
  EXPECT_EQ(Events(1), -1);
  EXPECT_EQ(Events(2), 1);
  EXPECT_EQ(cache_->Counts().before_start, 0);
}

TEST_F(TraceCacheTest, CancelledTimeoutsDoNotFire) {
  Make({});
  Add(Batch({{1, 1}}), 0);
  cache_->Cancel({"default", {9, 1}});
  EXPECT_THAT(Due(kMinute), IsEmpty());
  Add(Batch({{1, 2}}), kMinute);
  EXPECT_THAT(Due(2 * kMinute), ElementsAre(1));
}

TEST_F(TraceCacheTest, AHoldLastsUntilTheTraceIsTaken) {
  Make({});
  Add(Batch({{1, 1}}), 0);
  EXPECT_EQ(ledger_.Watermark(kWall + kHour), kWall);
  auto due = cache_->TakeDue(kMinute, 10);
  auto taken = cache_->Take(due[0].key);
  due.clear();
  EXPECT_EQ(ledger_.Watermark(kWall + kHour), kWall);
  taken.reset();
  EXPECT_EQ(ledger_.Watermark(kWall + kHour), kWall + kHour);
}

TEST(RecentIdsTest, RemembersForTheTimeAskedAndForgetsLater) {
  RecentIds ids(5 * kHour, 1 << 20);
  for (uint64_t i = 0; i < 1000; ++i) ids.Insert(0, {i, i * 7}, static_cast<Nanos>(i) * kSecond);
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_TRUE(ids.MayHave(0, {i, i * 7}));
  int wrong = 0;
  for (uint64_t i = 0; i < 10000; ++i) wrong += ids.MayHave(0, {i + 5000, i});
  EXPECT_LT(wrong, 20);
  for (Nanos t = kHour; t < 5 * kHour; t += kMinute)
    ids.Insert(0, {0xFFFF, static_cast<uint64_t>(t)}, t);
  EXPECT_TRUE(ids.MayHave(0, {999, 999 * 7}));  // 5 h are not over
  for (Nanos t = 5 * kHour; t < 12 * kHour; t += kMinute)
    ids.Insert(0, {0xFFFF, static_cast<uint64_t>(t)}, t);
  EXPECT_FALSE(ids.MayHave(0, {999, 999 * 7}));
  EXPECT_EQ(ids.forgotten_early(), 0);
}

TEST(RecentIdsTest, TooManyIdsShortenTheMemoryAndAreCounted) {
  RecentIds ids(5 * kHour, 64 << 10);
  for (uint64_t i = 0; i < 200'000; ++i) ids.Insert(0, {i, MixBits(i)}, 1);
  EXPECT_GT(ids.forgotten_early(), 0);
  EXPECT_TRUE(ids.MayHave(0, {199'999, MixBits(199'999)}));
}

}  // namespace
}  // namespace wf::pipeline
