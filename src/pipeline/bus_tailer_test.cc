// Tailers of a group on one store: they come, go, die and are taken for dead, and the rows are those of one that lives.
#include "pipeline/bus_tailer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>

#include "bus/memory/memory_bus.h"
#include "store/batch_builder.h"
#include "store/open/open_store.h"

namespace wf::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Rows in memory: trace → number of blocks that each of its rows was made of.
class CountedRows : public RowSink {
 public:
  Status Write(const std::string&, const std::string&, const DatasetTable& rows,
               const std::vector<TraceId>& replaced, store::TimeRange) override {
    const std::lock_guard lock(mutex_);
    if (failing) return EnvironmentError("the disk is full");
    ++writes;
    for (const TraceId& id : replaced) rows_.erase(id.lo);
    for (size_t i = 0; i < rows.rows(); ++i)
      rows_[ParseTraceId(rows.columns[0].texts[i])->lo].push_back(rows.columns[1].numbers[i]);
    return {};
  }
  std::map<uint64_t, std::vector<int64_t>> Read() {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  std::atomic<bool> failing{false};
  std::atomic<int> writes{0};

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::vector<int64_t>> rows_;
};

class BlocksDataset : public DatasetSource {
 public:
  BlocksDataset() {
    TailedDataset dataset;
    dataset.name = "blocks";
    dataset.owner = "ops";
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
    list_ = std::make_shared<TailedDatasets>(TailedDatasets{std::move(dataset)});
  }
  std::shared_ptr<const TailedDatasets> Deployed(const std::string&) override { return list_; }

 private:
  std::shared_ptr<const TailedDatasets> list_;
};

// The real store; it may be told to be slow, or to refuse what somebody named.
class MoodyStore : public store::Store {
 public:
  explicit MoodyStore(store::Store& store) : store_(store) {}
  void Append(EventBatch batch, Done done) override {
    if (overloaded) return done(Overloaded("the store is slow", "later"));
    for (size_t row = 0; row < batch.size(); ++row)
      if (batch.trace_lo[row] == refused_trace) return done(BadInput("no such trace", "never"));
    store_.Append(std::move(batch), std::move(done));
  }
  std::atomic<bool> overloaded{false};
  std::atomic<uint64_t> refused_trace{0};

  store::StoreTraits Traits() const override { return store_.Traits(); }
  void Listen(Listener listener) override { store_.Listen(std::move(listener)); }
  Result<EventBatch> ReadTrace(const std::string& t, TraceId id) override {
    return store_.ReadTrace(t, id);
  }
  Result<EventBatch> ReadTraces(const std::string& t, const std::vector<TraceId>& ids) override {
    return store_.ReadTraces(t, ids);
  }
  Result<store::SearchPage> Search(const std::string& t, const store::TraceQuery& q) override {
    return store_.Search(t, q);
  }
  Result<store::ResourcePage> OnResource(const std::string& t,
                                         const store::ResourceQuery& q) override {
    return store_.OnResource(t, q);
  }
  Status Scan(const std::string& t, const store::ScanOptions& o, const Take& take) override {
    return store_.Scan(t, o, take);
  }
  Result<std::vector<std::string>> Services(const std::string& t) override {
    return store_.Services(t);
  }
  Result<std::vector<Operation>> Operations(const std::string& t, const std::string& s) override {
    return store_.Operations(t, s);
  }
  Result<std::vector<std::string>> AttributeKeys(const std::string& t, std::string_view p,
                                                 size_t n) override {
    return store_.AttributeKeys(t, p, n);
  }
  Result<std::vector<std::string>> AttributeValues(const std::string& t, const std::string& k,
                                                   std::string_view p, size_t n) override {
    return store_.AttributeValues(t, k, p, n);
  }
  Status AppendMessages(const std::string& t, const std::vector<Message>& m) override {
    return store_.AppendMessages(t, m);
  }
  Result<std::vector<Message>> ReadMessages(const std::string& t, store::TimeRange r) override {
    return store_.ReadMessages(t, r);
  }
  Status PutAttachment(const std::string& t, const store::Attachment& a) override {
    return store_.PutAttachment(t, a);
  }
  Result<std::vector<store::Attachment>> ReadAttachments(const std::string& t,
                                                         TraceId id) override {
    return store_.ReadAttachments(t, id);
  }
  Status WriteClocks(const std::string& t, const std::vector<ClockOffset>& c) override {
    return store_.WriteClocks(t, c);
  }
  Result<std::vector<ClockOffset>> ReadClocks(const std::string& t, store::TimeRange r) override {
    return store_.ReadClocks(t, r);
  }
  Result<std::vector<ClockExchange>> ReadExchanges(const std::string& t,
                                                   store::TimeRange r) override {
    return store_.ReadExchanges(t, r);
  }
  Status PutDocument(const std::string& t, const std::string& k, const std::string& n,
                     std::string_view text) override {
    return store_.PutDocument(t, k, n, text);
  }
  Result<std::vector<store::Document>> ReadDocuments(const std::string& t,
                                                     const std::string& k) override {
    return store_.ReadDocuments(t, k);
  }
  Status DeleteDocument(const std::string& t, const std::string& k, const std::string& n) override {
    return store_.DeleteDocument(t, k, n);
  }
  Status WriteRows(const std::string& t, const std::string& d, const DatasetTable& r,
                   const store::RowReplacement& replace) override {
    return store_.WriteRows(t, d, r, replace);
  }
  Result<DatasetRows> QueryRows(const std::string& t, const std::string& d,
                                const DatasetQuery& q) override {
    return store_.QueryRows(t, d, q);
  }
  Result<std::vector<store::DatasetStatus>> ReadDatasets(const std::string& t) override {
    return store_.ReadDatasets(t);
  }
  Status DropDataset(const std::string& t, const std::string& d) override {
    return store_.DropDataset(t, d);
  }
  Status RetainRows(const std::string& t, const std::string& d,
                    const store::RowRetention& r) override {
    return store_.RetainRows(t, d, r);
  }
  Result<store::SqlRows> RunSql(const std::string& t, const std::string& sql) override {
    return store_.RunSql(t, sql);
  }
  Result<store::StoreStatus> ReadStatus(const std::string& t) override {
    return store_.ReadStatus(t);
  }
  Status Flush() override { return store_.Flush(); }
  Status Retain(const store::RetentionPolicy& p) override { return store_.Retain(p); }

 private:
  store::Store& store_;
};

class BusTailerTest : public ::testing::Test {
 protected:
  BusTailerTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "wf_bus_tailer_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    store::OpenStoreOptions store_options;
    store_options.sync = store::SyncMode::kNoSync;
    auto store = store::OpenStore(folder_ + "/store", store_options);
    EXPECT_TRUE(store.ok()) << store.error().message;
    kept_ = std::move(*store);
    store_ = std::make_unique<MoodyStore>(*kept_);
    options_.tailer.threads = TailerOptions::Threads::kNone;
    options_.tailer.clock = [this] { return now_.load(); };
    options_.retry = 0;
    options_.lease = kHour;  // a loaded machine; the lease has a test of its own
    publisher_ = std::move(bus_.Publisher()).value();
  }
  ~BusTailerTest() override {
    tailers_.clear();
    kept_.reset();
    std::filesystem::remove_all(folder_);
  }
  BusTailer& Start() {
    auto tailer = BusTailer::Start(
        {bus_, *store_, datasets_, rows_, folder_ + "/tailer" + std::to_string(++started_)},
        options_);
    EXPECT_TRUE(tailer.ok()) << tailer.error().message;
    tailers_.push_back(std::move(*tailer));
    return *tailers_.back();
  }
  // Fresh traces lie in the future of every clock, so that only what the bus tells decides what is served from where.
  void Send(uint64_t trace, const std::vector<uint64_t>& spans, Nanos start = Now() + kHour) {
    store::BatchBuilder b;
    b.Process("shop", "host");
    for (const uint64_t span : spans) b.Span({9, trace}, span, span == 1 ? 0 : 1, start, 1000);
    Status answer;
    publisher_->Publish(b.Take(), [&](Status status) { answer = std::move(status); });
    ASSERT_TRUE(answer.ok()) << answer.error().message;
  }
  // The store's own threads make appends durable: a step waits until none is under way.
  void StepAll() {
    for (const auto& tailer : tailers_) tailer->Step();
    for (const auto& tailer : tailers_)
      for (int i = 0; i < 20'000 && !store_->overloaded && tailer->ReadStatus().waiting_bytes > 0;
           ++i) {
        tailer->Step();
        if (tailer->ReadStatus().waiting_bytes > 0)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
  }
  void Pass(Nanos time) {
    for (const Nanos end = now_ + time; now_ < end;) {
      now_ = std::min(end, now_ + kSecond);
      StepAll();
    }
  }
  void RunWithFaults(int rounds, unsigned seed);
  int64_t Lag() const { return bus_.ReadStatus().lag; }

  std::string folder_;
  std::atomic<Nanos> now_{1000 * kSecond};
  BusTailerOptions options_;
  CountedRows rows_;
  BlocksDataset datasets_;
  std::unique_ptr<store::Store> kept_;
  std::unique_ptr<MoodyStore> store_;
  bus::memory::MemoryBus bus_;
  std::unique_ptr<bus::BusPublisher> publisher_;
  std::vector<std::unique_ptr<BusTailer>> tailers_;
  int started_ = 0;
};

TEST_F(BusTailerTest, WhatIsCommittedIsStoredAndHasItsRows) {
  BusTailer& tailer = Start();
  Pass(20 * kSecond);  // beyond the first seconds
  Send(1, {1, 2});
  Pass(5 * kSecond);
  EXPECT_EQ(store_->ReadTrace("default", {9, 1})->size(), 2u);
  EXPECT_THAT(rows_.Read(), IsEmpty());
  EXPECT_EQ(Lag(), 1);  // durable is not enough
  Pass(9 * kSecond);
  EXPECT_THAT(rows_.Read()[1], ElementsAre(2));
  EXPECT_EQ(Lag(), 0);
  EXPECT_EQ(tailer.ReadStatus().tailer.traces_from_cache, 1);
  EXPECT_EQ(tailer.ReadStatus().rounds_open, 0);
}

TEST_F(BusTailerTest, AKilledTailersTracesAreAnothersAndReplaceTheirRows) {
  Start();
  Pass(20 * kSecond);
  Send(1, {1, 2});
  Pass(14 * kSecond);
  Send(2, {1, 2});
  Send(1, {3});
  Pass(5 * kSecond);
  EXPECT_THAT(rows_.Read()[1], ElementsAre(2));
  EXPECT_EQ(rows_.Read().count(2), 0u);
  tailers_[0]->Stop(BusTailer::End::kAbandoned);
  tailers_.clear();
  Pass(kMinute);
  EXPECT_EQ(rows_.Read().count(2), 0u);
  BusTailer& next = Start();
  Pass(kMinute);
  EXPECT_THAT(rows_.Read()[1], ElementsAre(3));
  EXPECT_THAT(rows_.Read()[2], ElementsAre(2));
  EXPECT_EQ(Lag(), 0);
  EXPECT_EQ(next.ReadStatus().tailer.traces_from_cache, 0);  // all was on the bus before it
}

TEST_F(BusTailerTest, ALateEventAfterAHandoverFindsTheRestInTheStore) {
  Start();
  Pass(20 * kSecond);
  Send(1, {1, 2});
  Pass(20 * kSecond);
  EXPECT_EQ(Lag(), 0);
  tailers_.clear();
  Start();
  Pass(kMinute);
  Send(1, {3});  // its root went by long ago
  Send(2, {1});
  Pass(kMinute);
  EXPECT_THAT(rows_.Read()[1], ElementsAre(3));
  EXPECT_THAT(rows_.Read()[2], ElementsAre(1));
  EXPECT_EQ(tailers_[0]->ReadStatus().tailer.traces_from_cache, 1);
}

TEST_F(BusTailerTest, WhoIsTakenForDeadWritesNoRowAfterItWasTold) {
  Start();
  Pass(20 * kSecond);
  for (uint64_t trace = 1; trace <= 20; ++trace) Send(trace, {1, 2});
  Pass(5 * kSecond);
  // The first falls silent; the second takes over and finishes.
  std::unique_ptr<BusTailer> silent = std::move(tailers_[0]);
  tailers_.clear();
  BusTailer& second = Start();
  // It joins, and the group waits for the silent one, until that is taken for dead.
  Pass(3 * kSecond);
  EXPECT_EQ(second.ReadStatus().pieces, 0);
  silent->Step();  // hears of the change, gives up, and writes nothing
  EXPECT_THAT(rows_.Read(), IsEmpty());
  silent->Stop(BusTailer::End::kAbandoned);
  Pass(kMinute);
  const auto rows = rows_.Read();
  ASSERT_EQ(rows.size(), 20u);
  for (const auto& [trace, counts] : rows) EXPECT_THAT(counts, ElementsAre(2)) << trace;
  EXPECT_EQ(Lag(), 0);
}

TEST_F(BusTailerTest, AProcessThatWasStoppedForLongWritesNothing) {
  BusTailer& tailer = Start();
  Pass(20 * kSecond);
  Send(1, {1});
  const auto gathered = [&] {
    for (const StageStatus& stage : tailer.ReadStatus().tailer.stages)
      if (stage.name == "write") return stage.waiting;
    return size_t{0};
  };
  for (int i = 0; i < 60 && gathered() == 0; ++i) Pass(500 * kMilli);
  ASSERT_EQ(gathered(), 1u);
  ASSERT_THAT(rows_.Read(), IsEmpty());
  // As after SIGSTOP: the rows are written before the bus is read again.
  tailer.ForgetReading();
  tailer.Stop();
  EXPECT_EQ(tailer.ReadStatus().fenced, 1);
  EXPECT_THAT(rows_.Read(), IsEmpty());
  tailers_.clear();
  Start();
  Pass(kMinute);
  EXPECT_THAT(rows_.Read()[1], ElementsAre(1));
}

TEST_F(BusTailerTest, ASlowStorePausesReadingAndLosesNothing) {
  options_.bytes = 20'000;
  BusTailer& tailer = Start();
  Pass(20 * kSecond);
  store_->overloaded = true;
  for (uint64_t trace = 1; trace <= 200; ++trace) {
    Send(trace, {1, 2, 3});
    if (trace % 10 == 0) StepAll();
  }
  for (int i = 0; i < 20; ++i) StepAll();
  BusTailerStatus status = tailer.ReadStatus();
  EXPECT_GT(status.retries, 0);
  EXPECT_GT(status.pauses, 0);
  EXPECT_LT(status.pieces, 200);  // the rest waits on the bus
  EXPECT_LT(status.waiting_bytes, 100'000u);
  EXPECT_EQ(store_->ReadTrace("default", {9, 1})->size(), 0u);
  store_->overloaded = false;
  Pass(kMinute);
  const auto rows = rows_.Read();
  ASSERT_EQ(rows.size(), 200u);
  for (const auto& [trace, counts] : rows) EXPECT_THAT(counts, ElementsAre(3)) << trace;
  EXPECT_EQ(Lag(), 0);
}

TEST_F(BusTailerTest, WhatTheStoreRefusesForGoodIsSetAside) {
  BusTailer& tailer = Start();
  Pass(20 * kSecond);
  store_->refused_trace = 7;
  for (uint64_t trace = 1; trace <= 10; ++trace) Send(trace, {1});
  bus_.PutRaw(0, "poison");
  Pass(kMinute);
  EXPECT_EQ(rows_.Read().size(), 9u);
  EXPECT_EQ(tailer.ReadStatus().set_aside, 1);
  EXPECT_EQ(bus_.Poisoned().size(), 2u);
  EXPECT_EQ(Lag(), 0);
}

TEST_F(BusTailerTest, ABusThatIsAwayIsWaitedFor) {
  Start();
  Pass(20 * kSecond);
  for (uint64_t trace = 1; trace <= 10; ++trace) Send(trace, {1});
  Pass(2 * kSecond);
  bus_.SetReach(bus::memory::MemoryBus::Reach::kAway);
  Pass(kMinute);
  EXPECT_EQ(rows_.Read().size(), 10u);  // the events are here, and so is the store
  bus_.SetReach(bus::memory::MemoryBus::Reach::kThere);
  EXPECT_GT(Lag(), 0);
  Pass(2 * kSecond);
  EXPECT_EQ(Lag(), 0);
}

TEST_F(BusTailerTest, DelayedTracesSurviveTheTailer) {
  options_.tailer.isolation_queue = 2;
  options_.tailer.owner_rate = 1;
  Start();
  Pass(20 * kSecond);
  for (uint64_t trace = 1; trace <= 30; ++trace) Send(trace, {1, 2});
  rows_.failing = true;
  Pass(30 * kSecond);
  EXPECT_THAT(rows_.Read(), IsEmpty());
  EXPECT_GT(tailers_[0]->ReadStatus().tailer.delayed_queue, 0u);
  EXPECT_EQ(Lag(), 0);  // the queue has them, not the bus of pieces
  tailers_[0]->Stop(BusTailer::End::kAbandoned);
  tailers_.clear();
  rows_.failing = false;
  std::filesystem::remove_all(folder_ + "/tailer1");  // another machine
  Start();
  Pass(kMinute);
  const auto rows = rows_.Read();
  ASSERT_EQ(rows.size(), 30u);
  for (const auto& [trace, counts] : rows) EXPECT_THAT(counts, ElementsAre(2)) << trace;
  EXPECT_EQ(tailers_[0]->ReadStatus().tailer.delayed_queue, 0u);
}

// Kills, hand-overs, silences, slow stores, failing writes, redelivery, at random: the rows are those of a run without
// any. Traces go on over several sends, some late; the root comes first, or never.
void BusTailerTest::RunWithFaults(int rounds, unsigned seed) {
  uint64_t next_trace = 1;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(seed + static_cast<unsigned>(round));
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    std::map<uint64_t, uint64_t> sent;  // trace → spans
    std::map<uint64_t, bool> rootless;
    const uint64_t first = next_trace;
    Start();
    for (int step = 0; step < 120; ++step) {
      const int sends = static_cast<int>(random() % 4);
      for (int i = 0; i < sends; ++i) {
        const bool fresh = sent.empty() || chance(50);
        const uint64_t trace = fresh ? next_trace++ : first + random() % (next_trace - first);
        if (fresh) rootless[trace] = chance(20);
        uint64_t& spans = sent[trace];
        const uint64_t base = rootless[trace] ? 1 : 0;
        Send(trace, {base + spans + 1, base + spans + 2});
        spans += 2;
      }
      if (chance(4) && tailers_.size() < 3) Start();
      if (chance(4) && tailers_.size() > 1) {  // killed
        const auto at = tailers_.begin() + static_cast<ptrdiff_t>(random() % tailers_.size());
        (*at)->Stop(BusTailer::End::kAbandoned);
        tailers_.erase(at);
      }
      if (chance(3) && tailers_.size() > 1) tailers_.erase(tailers_.begin());  // ends in order
      store_->overloaded = chance(store_->overloaded ? 70 : 3);
      rows_.failing = chance(rows_.failing ? 70 : 3);
      if (chance(8)) {  // rows are written that cannot be committed; then, perhaps, a kill
        bus_.SetReach(bus::memory::MemoryBus::Reach::kAway);
        Pass(static_cast<Nanos>(random() % 20) * kSecond + kMilli);
        if (chance(50)) {
          tailers_.back()->Stop(BusTailer::End::kAbandoned);
          tailers_.pop_back();
        }
        bus_.SetReach(bus::memory::MemoryBus::Reach::kThere);
        if (tailers_.empty()) Start();
      }
      Pass(chance(10) ? 20 * kSecond : static_cast<Nanos>(random() % 3) * kSecond + kMilli);
    }
    store_->overloaded = false;
    rows_.failing = false;
    Pass(3 * kMinute);
    const auto rows = rows_.Read();
    for (const auto& [trace, spans] : sent) {
      const auto found = rows.find(trace);
      ASSERT_NE(found, rows.end()) << "round " << round << ", trace " << trace;
      // A trace without its root has a stand-in for it.
      EXPECT_THAT(found->second, ElementsAre(static_cast<int64_t>(spans + rootless[trace])))
          << "round " << round << ", trace " << trace;
      EXPECT_EQ(store_->ReadTrace("default", {9, trace})->size(), spans);
    }
    EXPECT_EQ(Lag(), 0) << "round " << round;
    tailers_.clear();
  }
}

TEST_F(BusTailerTest, RowsAreThoseOfARunWithoutFaults) { RunWithFaults(2, 1234); }
TEST_F(BusTailerTest, RowsAreThoseOfARunWithoutFaults_slow) { RunWithFaults(40, 5678); }

TEST_F(BusTailerTest, WithThreadsThreeTailersShareTheWork) {
  options_.tailer.threads = TailerOptions::Threads::kOwn;
  options_.tailer.clock = MonotonicNow;
  options_.tailer.cache.triggers = {*ParseTrigger("quick 50ms after last within 200ms")};
  options_.doubt = 200 * kMilli;
  options_.commit_period = 50 * kMilli;
  options_.retry = 10 * kMilli;
  Start();
  Start();
  constexpr uint64_t kTraces = 300;
  for (uint64_t trace = 1; trace <= kTraces; ++trace) {
    Send(trace, {1, 2});
    if (trace % 7 == 0) Send(trace - 1, {3});
    if (trace == 100) Start();
    if (trace == 200) {
      tailers_[0]->Stop(BusTailer::End::kAbandoned);
      tailers_.erase(tailers_.begin());
    }
  }
  const auto all_there = [&] {
    auto rows = rows_.Read();
    for (uint64_t trace = 1; trace <= kTraces; ++trace) {
      const int64_t spans = trace % 7 == 6 && trace < kTraces ? 3 : 2;
      if (rows[trace] != std::vector<int64_t>{spans}) return false;
    }
    return Lag() == 0;
  };
  const Nanos deadline = MonotonicNow() + 90 * kSecond;
  while (!all_there() && MonotonicNow() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(all_there());
}

}  // namespace
}  // namespace wf::pipeline
