// The tailer as a whole, on a real store, with a clock of its own and no threads; and once with all of them.
#include "pipeline/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "store/batch_builder.h"
#include "store/open/open_store.h"

namespace wf::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Rows in memory: dataset → trace → number of spans that each row was made of.
class FakeRows : public RowSink {
 public:
  Status Write(const std::string&, const std::string& dataset, const DatasetTable& rows,
               const std::vector<TraceId>& replaced, store::TimeRange) override {
    const std::lock_guard lock(mutex_);
    if (failing) return EnvironmentError("the disk is full");
    for (const TraceId& id : replaced) rows_[dataset].erase(id.lo);
    for (size_t i = 0; i < rows.rows(); ++i) {
      const auto id = ParseTraceId(rows.columns[0].texts[i]);
      rows_[dataset][id->lo].push_back(rows.columns[1].numbers[i]);
    }
    return {};
  }
  std::map<uint64_t, std::vector<int64_t>> Of(const std::string& dataset) {
    const std::lock_guard lock(mutex_);
    return rows_[dataset];
  }
  std::atomic<bool> failing{false};

 private:
  std::mutex mutex_;
  std::map<std::string, std::map<uint64_t, std::vector<int64_t>>> rows_;
};

class FakeDatasets : public DatasetSource {
 public:
  std::shared_ptr<const TailedDatasets> Deployed(const std::string&) override {
    const std::lock_guard lock(mutex_);
    return list_;
  }
  // One row a trace: its id and how many blocks it has.
  void Deploy(const std::string& name, const std::string& owner) {
    TailedDataset dataset;
    dataset.name = name;
    dataset.owner = owner;
    dataset.new_table = [] {
      DatasetTable table;
      table.columns.resize(2);
      table.columns[0].definition = {"trace_id", ColumnType::kText};
      table.columns[1].definition = {"blocks", ColumnType::kInt};
      return table;
    };
    dataset.extract = [](const Trace& trace, DatasetTable& table) {
      table.columns[0].AppendText(ToHex(trace.id));
      table.columns[1].AppendInt(static_cast<int64_t>(trace.blocks.size()));
    };
    const std::lock_guard lock(mutex_);
    auto list = std::make_shared<TailedDatasets>(*list_);
    list->push_back(std::move(dataset));
    list_ = std::move(list);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const TailedDatasets> list_ = std::make_shared<TailedDatasets>();
};

class TailerTest : public ::testing::Test {
 protected:
  TailerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wf_tailer_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    options_.threads = TailerOptions::Threads::kNone;
    options_.clock = [this] { return now_.load(); };
    datasets_.Deploy("spans", "ops");
    Open();
  }
  ~TailerTest() override {
    Close();
    std::filesystem::remove_all(folder_);
  }
  void Open() {
    store::OpenStoreOptions store_options;
    store_options.sync = store::SyncMode::kNoSync;
    auto store = store::OpenStore(folder_ + "/store", store_options);
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(*store);
    StartTailer();
  }
  void StartTailer() {
    auto tailer = Tailer::Start({*store_, datasets_, rows_, folder_ + "/tailer"}, options_);
    ASSERT_TRUE(tailer.ok()) << tailer.error().message;
    tailer_ = std::move(*tailer);
    store_->Listen(
        [this](const std::shared_ptr<const EventBatch>& batch) { tailer_->Take(batch); });
  }
  void StopTailer() {
    store_->Listen({});
    tailer_.reset();
  }
  // As kill -9 leaves it: the files are those of an earlier moment.
  void Close() {
    if (store_ == nullptr) return;
    StopTailer();
    store_.reset();
  }
  void Send(uint64_t trace, const std::vector<uint64_t>& spans, Nanos start = Now() + kHour) {
    store::BatchBuilder b;
    b.Process("shop", "host");
    for (const uint64_t span : spans)
      b.Span({9, trace}, span, span == 1 ? 0 : 1, start, 1000).Received(Now());
    EventBatch batch = b.Take();
    dropped_ += tailer_->DropRefused(batch);
    const Status stored = store_->AppendAndWait(std::move(batch));
    ASSERT_TRUE(stored.ok()) << stored.error().message;
  }
  void Pass(Nanos time) {
    for (const Nanos end = now_ + time; now_ < end;) {
      now_ = std::min(end, now_ + kSecond);
      tailer_->Step();
    }
  }

  std::string folder_;
  std::atomic<Nanos> now_{1000 * kSecond};
  TailerOptions options_;
  FakeRows rows_;
  FakeDatasets datasets_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Tailer> tailer_;
  int64_t dropped_ = 0;
};

TEST_F(TailerTest, RowsAppearTenSecondsAfterTheLastEvent) {
  Send(1, {1, 2});
  Pass(5 * kSecond);
  Send(1, {3});
  Pass(9 * kSecond);
  EXPECT_THAT(rows_.Of("spans"), IsEmpty());
  Pass(4 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(3));
  const TailerStatus status = tailer_->ReadStatus();
  EXPECT_EQ(status.traces_from_cache, 1);
  EXPECT_EQ(status.cache_share(), 1.0);
  EXPECT_EQ(status.delayed_queue, 0u);
}

TEST_F(TailerTest, ALateEventReplacesTheTracesRows) {
  Send(1, {1});
  Send(2, {1});
  Pass(13 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(1));
  Send(1, {2});
  Pass(13 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
  EXPECT_THAT(rows_.Of("spans")[2], ElementsAre(1));
  EXPECT_EQ(tailer_->ReadStatus().traces_again, 1);
}

TEST_F(TailerTest, ALateEventOfAnExpiredTraceIsProcessedFromTheStore) {
  Send(1, {1, 2});
  Pass(5 * kMinute);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
  Send(1, {3});
  Pass(kMinute);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(3));
  const TailerStatus status = tailer_->ReadStatus();
  EXPECT_EQ(status.delayed[DelayReason::kEventsGone], 1);
  EXPECT_EQ(status.traces_delayed_done, 1);
}

TEST_F(TailerTest, AFullIsolationQueueDelaysItsOwnerAlone) {
  StopTailer();
  options_.isolation_queue = 5;
  StartTailer();
  datasets_.Deploy("more", "dev");
  for (uint64_t trace = 1; trace <= 20; ++trace) Send(trace, {1});
  Pass(kMinute);
  const TailerStatus status = tailer_->ReadStatus();
  EXPECT_GT(status.delayed[DelayReason::kQueueFull], 0);
  EXPECT_EQ(status.delayed[DelayReason::kEventsGone], 0);
  int64_t refused = 0;
  for (const OwnerLoad& owner : status.owners) refused += owner.refused;
  EXPECT_EQ(status.delayed[DelayReason::kQueueFull], refused);
  EXPECT_EQ(status.delayed.delayed(), refused);
  EXPECT_EQ(rows_.Of("spans").size(), 20u);  // late, but there
  EXPECT_EQ(rows_.Of("more").size(), 20u);
  for (const auto& [trace, rows] : rows_.Of("spans")) EXPECT_EQ(rows.size(), 1u) << trace;
}

TEST_F(TailerTest, WhatComesFasterThanAnOwnersRateFillsHisQueueAndIsDelayed) {
  StopTailer();
  options_.isolation_queue = 5;
  options_.owner_rate = 5;
  StartTailer();
  // 40 traces become due in one second: 5 go at once, 5 wait, and as the seconds pass 5 more each.
  for (uint64_t trace = 1; trace <= 40; ++trace) Send(trace, {1});
  Pass(15 * kSecond);
  const TailerStatus status = tailer_->ReadStatus();
  EXPECT_EQ(status.traces_from_cache, 40);
  EXPECT_GE(status.delayed[DelayReason::kQueueFull], 20);
  EXPECT_LT(status.delayed[DelayReason::kQueueFull], 40);
  EXPECT_EQ(status.delayed[DelayReason::kEventsGone], 0);
  EXPECT_EQ(rows_.Of("spans").size(), 40u);  // later, but there
  // At the rate nothing is delayed.
  for (uint64_t trace = 101; trace <= 120; ++trace) {
    if (trace % 4 == 0) Pass(kSecond);
    Send(trace, {1});
  }
  Pass(15 * kSecond);
  EXPECT_EQ(tailer_->ReadStatus().delayed[DelayReason::kQueueFull],
            status.delayed[DelayReason::kQueueFull]);
  EXPECT_EQ(rows_.Of("spans").size(), 60u);
}

// What the cache has not, by whatever way, is the one reason; nothing else is.
TEST_F(TailerTest, EventsGoneFromTheCacheAreCountedExactly) {
  Send(1, {1});                   // whole, and served from the cache
  Send(2, {1}, Now() - kMinute);  // began before the tailer: it may not have all of it
  Pass(15 * kSecond);
  TailerStatus status = tailer_->ReadStatus();
  EXPECT_EQ(status.traces_from_cache, 1);
  EXPECT_EQ(status.delayed[DelayReason::kEventsGone], 1);
  EXPECT_EQ(status.before_start, 1);
  Pass(kHour);  // expired
  Send(1, {2});
  Pass(15 * kSecond);
  status = tailer_->ReadStatus();
  EXPECT_EQ(status.delayed[DelayReason::kEventsGone], 2);
  EXPECT_EQ(status.before_start, 1);
  EXPECT_EQ(status.delayed.delayed(), 2);
  for (const DelayReason job :
       {DelayReason::kRecovered, DelayReason::kWriteFailed, DelayReason::kPassedOver})
    EXPECT_EQ(status.delayed[job], 0);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
  EXPECT_THAT(rows_.Of("spans")[2], ElementsAre(1));
}

TEST_F(TailerTest, ANewDatasetNeedsNoRestart) {
  Send(1, {1});
  Pass(5 * kSecond);
  datasets_.Deploy("more", "dev");
  Pass(10 * kSecond);
  EXPECT_EQ(rows_.Of("more").size(), 1u);
}

TEST_F(TailerTest, ImportedTracesAreProcessedAtOnceAndOnlyOnce) {
  Send(1, {1, 2}, 5 * kSecond);
  ASSERT_TRUE(tailer_->ProcessNow("default", {{9, 1}}).ok());
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
  Pass(kMinute);
  EXPECT_EQ(tailer_->ReadStatus().traces_due, 0);
  Send(1, {3}, 5 * kSecond);
  Pass(kMinute);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(3));
}

TEST_F(TailerTest, AnAdHocJobOverOldTracesFillsOneDataset) {
  Send(1, {1, 2});
  Pass(kMinute);
  datasets_.Deploy("more", "dev");
  ASSERT_TRUE(tailer_->ProcessNow("default", {{9, 1}}, "more").ok());
  EXPECT_THAT(rows_.Of("more")[1], ElementsAre(2));
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
}

TEST_F(TailerTest, RowsOfABackfillAreReplacedByTheLiveOnes) {
  Send(1, {1, 2});
  Pass(5 * kSecond);
  {
    const auto backfill = tailer_->ExpectEarlierRows();
    DatasetTable table = datasets_.Deployed("")->front().new_table();
    table.columns[0].AppendText(ToHex(TraceId{9, 1}));
    table.columns[1].AppendInt(2);
    ASSERT_TRUE(rows_.Write("default", "spans", table, {}, {}).ok());
  }
  now_ += kMilli;
  Send(2, {1});
  Pass(kMinute);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));  // once
  EXPECT_THAT(rows_.Of("spans")[2], ElementsAre(1));
}

// The state on disk is copied while the tailer runs, which is what a kill would leave, and opened again.
TEST_F(TailerTest, KillBetweenReceiptAndRowsLosesNothing) {
  Send(1, {1, 2});
  Pass(5 * kSecond);
  const std::string left = folder_ + "/left";
  std::filesystem::copy(folder_ + "/tailer", left, std::filesystem::copy_options::recursive);
  StopTailer();
  std::filesystem::remove_all(folder_ + "/tailer");
  std::filesystem::rename(left, folder_ + "/tailer");
  ASSERT_THAT(rows_.Of("spans"), IsEmpty());
  StartTailer();
  Pass(5 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
  EXPECT_EQ(tailer_->ReadStatus().delayed[DelayReason::kRecovered], 1);
  EXPECT_EQ(tailer_->ReadStatus().delayed.delayed(), 0);  // a job, and no delay
  // And an event that comes after the restart finds the rest of its trace in the store.
  Send(1, {3}, Now() - kSecond);
  Pass(kMinute);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(3));
}

TEST_F(TailerTest, AStopBetweenReceiptAndRowsLosesNothing) {
  Send(1, {1, 2});
  Pass(5 * kSecond);
  Close();
  Open();
  Pass(5 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
}

TEST_F(TailerTest, FailedWritesComeAgain) {
  rows_.failing = true;
  Send(1, {1, 2});
  Pass(kMinute);
  EXPECT_THAT(rows_.Of("spans"), IsEmpty());
  EXPECT_GT(tailer_->ReadStatus().write_failures, 0);
  EXPECT_GT(tailer_->ReadStatus().delayed[DelayReason::kWriteFailed], 0);
  EXPECT_EQ(tailer_->ReadStatus().delayed.delayed(), 0);
  rows_.failing = false;
  Pass(5 * kSecond);
  EXPECT_THAT(rows_.Of("spans")[1], ElementsAre(2));
}

TEST_F(TailerTest, ATraceWithTooManyEventsIsRefusedAndCountedAlsoAfterARestart) {
  StopTailer();
  options_.cache.max_events_per_trace = 3;
  StartTailer();
  Send(1, {1, 2, 3});
  Send(2, {1});
  Pass(kSecond);
  EXPECT_EQ(dropped_, 0);
  Send(1, {4});
  Pass(kSecond);
  Send(1, {5, 6});
  EXPECT_EQ(dropped_, 2);
  StopTailer();
  StartTailer();
  Send(1, {7});
  EXPECT_EQ(dropped_, 3);
  EXPECT_EQ(store_->ReadTrace("default", {9, 1})->size(), 4u);
  EXPECT_EQ(tailer_->ReadStatus().blacklisted_traces, 1u);
  EXPECT_EQ(tailer_->ReadStatus().blacklisted_events, 1);
}

TEST_F(TailerTest, ABatchThatFindsTheInboxFullIsLookedThroughLater) {
  StopTailer();
  options_.inbox_bytes = 1;
  StartTailer();
  for (uint64_t trace = 1; trace <= 10; ++trace)
    Send(trace, {1, 2});  // nothing is fetched meanwhile
  EXPECT_EQ(tailer_->ReadStatus().fetch_overflows, 9);
  Pass(kMinute);
  EXPECT_EQ(rows_.Of("spans").size(), 10u);
  for (const auto& [trace, rows] : rows_.Of("spans")) EXPECT_THAT(rows, ElementsAre(2)) << trace;
  EXPECT_GE(tailer_->ReadStatus().delayed[DelayReason::kPassedOver], 9);
  EXPECT_EQ(tailer_->ReadStatus().delayed[DelayReason::kQueueFull], 0);
}

TEST_F(TailerTest, SpansOfOneTraceInManyBatchesAreJoined) {
  for (uint64_t span = 1; span <= 30; ++span)
    for (uint64_t trace = 1; trace <= 10; ++trace) Send(trace, {span});
  Pass(kMinute);
  const auto rows = rows_.Of("spans");
  ASSERT_EQ(rows.size(), 10u);
  for (const auto& [trace, counts] : rows) EXPECT_THAT(counts, ElementsAre(30)) << trace;
}

TEST_F(TailerTest, WithThreadsEveryTraceGetsItsRowsOnce) {
  StopTailer();
  options_.threads = TailerOptions::Threads::kOwn;
  options_.builders = options_.extractors = 2;
  options_.cache.triggers = {*ParseTrigger("quick 50ms after last within 200ms")};
  options_.clock = MonotonicNow;
  StartTailer();
  datasets_.Deploy("more", "dev");
  constexpr uint64_t kTraces = 500;
  for (uint64_t trace = 1; trace <= kTraces; ++trace) {
    Send(trace, {1, 2});
    if (trace % 7 == 0) Send(trace - 1, {3});
    if (trace % 100 == 0) {
      ASSERT_TRUE(tailer_->ProcessNow("default", {{9, trace}}).ok());
    }
  }
  const auto all_there = [&] {
    for (const char* dataset : {"spans", "more"}) {
      auto rows = rows_.Of(dataset);
      for (uint64_t trace = 1; trace <= kTraces; ++trace) {
        const int64_t spans = trace % 7 == 6 && trace < kTraces ? 3 : 2;
        if (rows[trace] != std::vector<int64_t>{spans}) return false;
      }
    }
    return true;
  };
  const Nanos deadline = MonotonicNow() + 60 * kSecond;
  while (!all_there() && MonotonicNow() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(all_there());
}

}  // namespace
}  // namespace wf::pipeline
