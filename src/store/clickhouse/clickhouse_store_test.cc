// What only this engine has: servers that refuse or are not there, schemas of other ages, doubles that merges remove,
// windows of a large store, and how much goes over the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/clickhouse/clickhouse_factory_test.h"
#include "store/clickhouse/store_impl.h"
#include "store/rows_builder.h"

namespace wf::store::clickhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ClickhouseStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(const ClickhouseStoreOptions& options = {}) {
    auto opened = OpenClickhouseStore(factory_.url(), options);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static clickhouse::Client& ClientOf(Store& store) {
    return static_cast<ClickhouseStore&>(store).client();
  }
  int64_t Received(Store& store) { return ClientOf(store).counts().bytes_received; }
  int64_t Number(const std::string& sql) {
    int64_t total = 0;
    for (size_t shard = 0; shard < factory_.client().shards(); ++shard) {
      const auto number = factory_.client().AskNumber(shard, "counting", sql + " FORMAT RowBinary");
      EXPECT_TRUE(number.ok()) << (number.ok() ? "" : number.error().message);
      if (number.ok()) total += *number;
    }
    return total;
  }
  static TraceId T(uint64_t n) { return {MixBits(n), n}; }

  ClickhouseFactory factory_;
};

TEST_F(ClickhouseStoreTest, AResourceLookupMovesItsAnswerOnly) {
  const auto store = Open();
  constexpr uint64_t kSpans = 20'000, kWanted = 5;
  BatchBuilder b;
  b.Process("front", "h1");
  for (uint64_t i = 0; i < kSpans; ++i) {
    b.Span(T(i), i + 1, 0, kT0 + static_cast<Nanos>(i) * kMilli, kMilli, "work")
        .Text("thread.id", i % (kSpans / kWanted) == 0 ? "7" : std::to_string(1000 + i % 50))
        .Text("text", std::string(100, 'x'));
  }
  ASSERT_TRUE(store->AppendAndWait(b.Take()).ok());
  const int64_t stored = Number("SELECT toInt64(sum(bytes)) FROM events");
  ASSERT_GT(stored, static_cast<int64_t>(kSpans) * 150);

  ResourceQuery query;
  query.keys = {{ResourceKey::kHost, "h1"}, {ResourceKey::kThread, "7"}};
  int64_t before = Received(*store);
  auto page = store->OnResource("default", query);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->rows.size(), kWanted);
  EXPECT_LT(Received(*store) - before, static_cast<int64_t>(kWanted) * 1000);

  // A busy resource during a short time: what overlaps it, not all that ever ran there.
  query.keys = {{ResourceKey::kHost, "h1"}};
  query.time = {kT0 + 1000 * kMilli, kT0 + 1010 * kMilli};
  before = Received(*store);
  page = store->OnResource("default", query);
  ASSERT_TRUE(page.ok()) << page.error().message;
  EXPECT_EQ(page->rows.size(), 10u);
  EXPECT_LT(Received(*store) - before, 10 * 1000);

  // A search moves its page.
  TraceQuery search;
  search.attributes = {{"thread.id", "7"}};
  before = Received(*store);
  const auto found = store->Search("default", search);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->traces.size(), kWanted);
  EXPECT_LT(Received(*store) - before, static_cast<int64_t>(kWanted) * 1000);

  // A scan of a selection leaves other rows and attributes where they are.
  ScanOptions scan;
  scan.select = EventSelection{{"nothing"}, {"thread.id"}, {}};
  before = Received(*store);
  size_t rows = 0;
  ASSERT_TRUE(store
                  ->Scan("default", scan,
                         [&](const EventBatch& batch) {
                           rows += batch.size();
                           return true;
                         })
                  .ok());
  EXPECT_EQ(rows, 0u);
  EXPECT_LT(Received(*store) - before, 10'000);
}

TEST_F(ClickhouseStoreTest, TheSortingKeyNarrowsAResourceLookup) {
  const auto store = Open();
  BatchBuilder b;
  b.Process("front", "h1");
  constexpr uint64_t kSpans = 60'000;
  for (uint64_t i = 0; i < kSpans; ++i)
    b.Span(T(i), i + 1, 0, kT0 + static_cast<Nanos>(i) * kMilli, kMilli, "work");
  ASSERT_TRUE(store->AppendAndWait(b.Take()).ok());
  // As OnResource asks, for ten milliseconds of a minute; the server says how many rows it looked at.
  const auto answer = factory_.client().Ask(
      0, "looking",
      "SELECT count() FROM resource_events WHERE tenant = 'default' AND resource = 'host:h1' AND "
      "start_ns < " +
          std::to_string(kT0 + 30 * kSecond + 10 * kMilli) +
          " AND ((length_class = 10 AND start_ns >= " +
          std::to_string(kT0 + 30 * kSecond - 2 * kMilli) +
          ") OR (length_class = 11)) FORMAT JSON");
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const size_t at = answer->find("\"rows_read\": ");
  ASSERT_NE(at, std::string::npos) << *answer;
  EXPECT_LE(std::stoll(answer->substr(at + 13)), 2 * 8192);
}

TEST_F(ClickhouseStoreTest, MergesRemoveWhatWasSentTwice) {
  const auto store = Open();
  BatchBuilder b;
  for (uint64_t i = 0; i < 100; ++i) b.Span(T(i), i + 1, 0, kT0, 10).Text("k", "v");
  const EventBatch batch = b.Received(Now()).Take();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->AppendAndWait(batch).ok());
  EXPECT_EQ(store->ReadStatus("default")->events, 100);
  for (const char* table : {"events", "pieces", "resource_events", "origins"}) {
    ASSERT_TRUE(factory_.client()
                    .RunEverywhere("merging", std::string("OPTIMIZE TABLE ") +
                                                  factory_.client().url().database + "." + table +
                                                  " FINAL")
                    .ok());
  }
  EXPECT_EQ(Number("SELECT toInt64(count()) FROM events"), 100);
  EXPECT_EQ(Number("SELECT toInt64(count()) FROM pieces"), 100);
  EXPECT_EQ(store->ReadStatus("default")->events, 100);
}

// Of doubles the one received first stays, whenever merges come.
TEST_F(ClickhouseStoreTest, TheFirstReceiptStays) {
  const auto store = Open();
  const Nanos noon = Now() / kDay * kDay + kHour;
  for (const Nanos received : {noon + 5, noon + 1, noon + 9})
    ASSERT_TRUE(
        store->AppendAndWait(BatchBuilder().Received(received).Span(T(1), 1, 0, kT0, 10).Take())
            .ok());
  EXPECT_EQ(store->ReadTrace("default", T(1))->received_of(0), noon + 1);
  ASSERT_TRUE(factory_.client()
                  .RunEverywhere("merging", "OPTIMIZE TABLE " + factory_.client().url().database +
                                                ".events FINAL")
                  .ok());
  const auto read = store->ReadTrace("default", T(1));
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->received_of(0), noon + 1);
}

TEST_F(ClickhouseStoreTest, ALargeStoreIsSearchedFromItsNewestBackwards) {
  ClickhouseStoreOptions options;
  options.many_traces = 0;
  const auto store = Open(options);
  const Nanos now = Now();
  // Some traces of each window, and one whose late part lies in a newer window than its start.
  std::vector<std::pair<Nanos, uint64_t>> starts;
  uint64_t n = 0;
  for (const Nanos age :
       {10 * kMinute, 50 * kMinute, 3 * kHour, 20 * kHour, 3 * kDay, 400 * kDay}) {
    for (int i = 0; i < 3; ++i) {
      ++n;
      const Nanos start = now - age + i;
      starts.push_back({start, n});
      ASSERT_TRUE(store->AppendAndWait(BatchBuilder().Span(T(n), 1, 0, start, 10).Take()).ok());
      if (age == 3 * kDay || age == 3 * kHour) {
        ASSERT_TRUE(store
                        ->AppendAndWait(
                            BatchBuilder().Span(T(n), 2, 1, now - 20 * kMinute, 10, "late").Take())
                        .ok());
      }
    }
  }
  std::sort(starts.rbegin(), starts.rend());
  for (const size_t limit : {1u, 4u, 100u}) {
    TraceQuery query;
    query.limit = limit;
    std::vector<std::pair<Nanos, uint64_t>> got;
    for (int pages = 0; pages < 30; ++pages) {
      const auto page = store->Search("default", query);
      ASSERT_TRUE(page.ok()) << page.error().message;
      for (const TraceSummary& trace : page->traces)
        got.push_back({trace.start_ns, trace.trace_id.lo});
      if (!page->next) break;
      query.cursor = page->next;
    }
    EXPECT_EQ(got, starts) << "pages of " << limit;
  }
  TraceQuery late;
  late.operation = "late";
  EXPECT_EQ(store->Search("default", late)->traces.size(), 6u);
  late.time.from = now - 4 * kHour;
  EXPECT_EQ(store->Search("default", late)->traces.size(), 3u);
}

TEST_F(ClickhouseStoreTest, ADayIsCutWhenItsAgeIsShort) {
  const auto store = Open();
  const Nanos now = Now();
  for (const Nanos age : {6 * kMinute, 2 * kMinute, Nanos{0}}) {
    const uint64_t n = static_cast<uint64_t>(age / kMinute) + 1;
    ASSERT_TRUE(
        store->AppendAndWait(BatchBuilder().Received(now - age).Span(T(n), 1, 0, kT0, 10).Take())
            .ok());
  }
  ASSERT_TRUE(store->Retain({4 * kMinute, std::nullopt}).ok());
  EXPECT_TRUE(store->ReadTrace("default", T(7))->empty());
  EXPECT_EQ(store->ReadTrace("default", T(3))->size(), 1u);
  EXPECT_EQ(store->ReadTrace("default", T(1))->size(), 1u);
  EXPECT_EQ(store->Search("default", {})->traces.size(), 2u);
  EXPECT_EQ(store->ReadStatus("default")->counters["rows_retired"], 1);
}

TEST_F(ClickhouseStoreTest, AgesAreToldToServersThatKnowThem) {
  const auto store = Open();
  const auto version = factory_.client().ReadVersion(0);
  ASSERT_TRUE(version.ok());
  const auto told = [&] {
    return Number(
        "SELECT toInt64(count()) FROM system.tables WHERE database = currentDatabase() AND "
        "position(create_table_query, ' TTL ') > 0");
  };
  const auto tables = static_cast<int64_t>(3 * factory_.client().shards());
  ASSERT_TRUE(store->Retain({7 * kDay, std::nullopt}).ok());
  EXPECT_EQ(told(), version->AtLeast(21, 1) ? tables : 0);
  ASSERT_TRUE(store->Retain({std::nullopt, std::nullopt}).ok());
  EXPECT_EQ(told(), 0);
}

TEST_F(ClickhouseStoreTest, TracesOfAllShardsAreScannedInSlices) {
  const auto store = Open();
  // Ids of both kinds: whole ones, and such with an empty high half. 60 MB of rows need several slices.
  constexpr uint64_t kTraces = 300;
  std::set<std::pair<uint64_t, uint64_t>> want;
  std::mt19937_64 random(5);
  for (int part = 0; part < 2; ++part) {
    BatchBuilder b;
    for (uint64_t i = 0; i < kTraces; ++i) {
      const TraceId id = i % 2 == 0 ? T(i) : TraceId{0, i};
      std::string text(100'000, ' ');
      for (size_t at = 0; at < text.size(); at += 8) {
        const uint64_t word = random();
        std::memcpy(text.data() + at, &word, 8);
      }
      b.Span(id, static_cast<uint64_t>(part) + 1, 0, kT0, 10).Text("text", text);
      want.insert({id.lo, static_cast<uint64_t>(part) + 1});
    }
    ASSERT_TRUE(store->AppendAndWait(b.Take()).ok());
  }
  std::set<uint64_t> finished;
  std::set<std::pair<uint64_t, uint64_t>> got;
  int batches = 0;
  ASSERT_TRUE(
      store
          ->Scan("default", {},
                 [&](const EventBatch& batch) {
                   ++batches;
                   std::set<uint64_t> here;
                   for (size_t i = 0; i < batch.size(); ++i) {
                     EXPECT_EQ(finished.count(batch.trace_lo[i]), 0u) << "split";
                     EXPECT_TRUE(got.insert({batch.trace_lo[i], batch.id1[i]}).second) << "twice";
                     here.insert(batch.trace_lo[i]);
                   }
                   finished.insert(here.begin(), here.end());
                   return true;
                 })
          .ok());
  EXPECT_EQ(got, want);
}

TEST_F(ClickhouseStoreTest, TwoProcessesOpenOneDatabaseAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      const auto store = OpenClickhouseStore(factory_.url());
      EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().message);
      opened += store.ok() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 3);
}

// A store that outgrows its shards: everything is found again, and what is replaced is replaced where it lies.
TEST_F(ClickhouseStoreTest, WhenAShardComesEverythingIsStillThere) {
  const clickhouse::StoreUrl& all = factory_.client().url();
  if (all.shards.size() < 2) return;  // one node has no second
  const std::string first = "clickhouse://" + all.shards[0].text() + "/" + all.database;
  constexpr uint64_t kTraces = 40;
  const auto rows = [](int64_t value) {
    RowsBuilder b({{"value", ColumnType::kInt}});
    for (uint64_t n = 1; n <= kTraces; ++n) b.Row(T(n), kT0, "", {value});
    return b.table();
  };
  const auto events = [](uint64_t id) {
    BatchBuilder b;
    for (uint64_t n = 1; n <= kTraces; ++n) b.Span(T(n), id, id - 1, kT0, 10);
    return b.Take();
  };
  {
    const auto store = OpenClickhouseStore(first);
    ASSERT_TRUE(store.ok()) << store.error().message;
    ASSERT_TRUE((*store)->AppendAndWait(events(1)).ok());
    for (int kind = 0; kind < 10; ++kind)
      ASSERT_TRUE((*store)->PutDocument("default", "kind" + std::to_string(kind), "a", "x").ok());
    ASSERT_TRUE((*store)->WriteClocks("default", {{"host", 0, 1, 1}}).ok());
    for (int set = 0; set < 4; ++set)
      ASSERT_TRUE((*store)->WriteRows("default", "d" + std::to_string(set), rows(1)).ok());
    for (uint64_t n = 1; n <= kTraces; ++n)
      ASSERT_TRUE((*store)->PutAttachment("default", {T(n), "recording", {"chunk"}}).ok());
  }
  const auto store = Open();
  DatasetQuery sum;
  sum.aggregates = {{AggregateKind::kCount, "", 0, "n"}, {AggregateKind::kSum, "value", 0, "sum"}};
  const auto sums = [&](int set) {
    const auto answer = store->QueryRows("default", "d" + std::to_string(set), sum);
    return answer.ok() ? Lines(answer->table).at(0) : answer.error().message;
  };
  for (int kind = 0; kind < 10; ++kind)
    EXPECT_EQ(store->ReadDocuments("default", "kind" + std::to_string(kind))->size(), 1u);
  EXPECT_EQ(store->ReadClocks("default", {})->size(), 1u);
  for (int set = 0; set < 4; ++set) EXPECT_EQ(sums(set), "40|40");
  // From now on there are two: late events, rows that replace, an attachment that is there already.
  ASSERT_TRUE(store->AppendAndWait(events(2)).ok());
  RowReplacement replace;
  for (uint64_t n = 1; n <= kTraces; ++n) replace.traces.push_back(T(n));
  ASSERT_TRUE(store->WriteRows("default", "d0", rows(10), replace).ok());
  EXPECT_EQ(sums(0), "40|400");
  for (uint64_t n = 1; n <= kTraces; ++n) {
    EXPECT_EQ(store->ReadTrace("default", T(n))->size(), 2u);
    ASSERT_TRUE(store->PutAttachment("default", {T(n), "recording", {"chunk"}}).ok());
    EXPECT_EQ(store->ReadAttachments("default", T(n))->size(), 1u);
  }
  TraceQuery query;
  query.limit = 100;
  EXPECT_EQ(store->Search("default", query)->traces.size(), kTraces);
  EXPECT_EQ(store->ReadStatus("default")->attachments, static_cast<int64_t>(kTraces));
  // Somebody whose configuration was forgotten would see half of it.
  const auto fewer = OpenClickhouseStore(first);
  ASSERT_FALSE(fewer.ok());
  EXPECT_EQ(fewer.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(fewer.error().message, HasSubstr("2 shards"));
}

TEST_F(ClickhouseStoreTest, TablesOfANewerProgramAreRefused) {
  ASSERT_NE(Open(), nullptr);
  ASSERT_TRUE(
      factory_.client()
          .RunEverywhere("writing a version", "INSERT INTO schema_version SELECT 1000, now()")
          .ok());
  const auto opened = OpenClickhouseStore(factory_.url());
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("version 1000"));
}

TEST_F(ClickhouseStoreTest, TablesThatAreMissingAreMade) {
  ASSERT_NE(Open(), nullptr);
  // As if the program had died before it was done.
  const std::string database = factory_.client().url().database;
  ASSERT_TRUE(factory_.client()
                  .RunEverywhere("dropping", "DROP TABLE " + database + ".schema_version")
                  .ok());
  ASSERT_TRUE(
      factory_.client().RunEverywhere("dropping", "DROP TABLE " + database + ".operations").ok());
  const auto store = Open();
  ASSERT_TRUE(store->AppendAndWait(BatchBuilder().Span(T(1), 1, 0, kT0, 10).Take()).ok());
  EXPECT_EQ(store->Operations("default", "service")->size(), 1u);
}

TEST_F(ClickhouseStoreTest, AWrongPasswordIsRefusedAndNotTold) {
  std::string url = factory_.url();
  url.insert(std::string("clickhouse://").size(), "nobody:open%20sesame@");
  const auto opened = OpenClickhouseStore(url);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kDenied);
  EXPECT_THAT(opened.error().message, HasSubstr("nobody"));
  EXPECT_THAT(opened.error().message + opened.error().hint, Not(HasSubstr("sesame")));
}

TEST(ClickhouseStore, AServerThatIsNotThereIsNamed) {
  ClickhouseStoreOptions options;
  options.open_patience = 100 * kMilli;
  const auto opened = OpenClickhouseStore("clickhouse://127.0.0.1:1/d", options);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kEnvironment);
  EXPECT_THAT(opened.error().message, HasSubstr("127.0.0.1:1"));
}

TEST_F(ClickhouseStoreTest, ErrorsOfTheServerSayWhatWasAsked) {
  const auto store = Open();
  const auto answer =
      ClientOf(*store).Ask(0, "asking nonsense", "SELECT no_such_column FROM events");
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.error().message, HasSubstr("asking nonsense"));
  EXPECT_THAT(answer.error().message, HasSubstr("code 47"));
}

TEST_F(ClickhouseStoreTest, MoreThanTheQueueHoldsIsRefused) {
  ClickhouseStoreOptions options;
  options.max_queue_bytes = 100'000;
  options.senders = 1;
  const auto store = Open(options);
  std::atomic<int> kept{0}, refused{0};
  constexpr int kBatches = 200;
  for (int i = 0; i < kBatches; ++i) {
    store->Append(BatchBuilder()
                      .Span(T(static_cast<uint64_t>(i)), 1, 0, kT0, 10)
                      .Text("k", std::string(10'000, 'x'))
                      .Take(),
                  [&](Status status) {
                    if (status.ok()) ++kept;
                    if (!status.ok() && status.error().code == ErrorCode::kOverloaded) ++refused;
                  });
  }
  ASSERT_TRUE(store->Flush().ok());
  EXPECT_EQ(kept + refused, kBatches);
  EXPECT_GT(refused, 0);
  EXPECT_EQ(store->ReadStatus("default")->events, kept);
}

// What the server refuses is refused to its sender; whoever happened to be sent with it is not.
TEST_F(ClickhouseStoreTest, ABatchThatTheServerRefusesStandsAlone) {
  ClickhouseStoreOptions options;
  options.senders = 1;
  options.insert_burst = 1;  // so that the others wait, and go together
  options.inserts_per_second = 5;
  options.retry_for = 100 * kMilli;
  const auto store = Open(options);
  const std::string database = factory_.client().url().database;
  ASSERT_TRUE(factory_.client()
                  .RunEverywhere("making a view",
                                 "CREATE MATERIALIZED VIEW " + database +
                                     ".refusing ENGINE = Null AS SELECT throwIf(tenant = 'bad') AS "
                                     "x FROM " +
                                     database + ".events")
                  .ok());
  std::atomic<int> kept{0}, refused{0};
  for (uint64_t i = 0; i < 9; ++i) {
    const bool bad = i == 4;
    store->Append(BatchBuilder(bad ? "bad" : "default").Span(T(i), 1, 0, kT0, 10).Take(),
                  [&, bad](Status status) {
                    EXPECT_EQ(status.ok(), !bad) << (status.ok() ? "" : status.error().message);
                    (status.ok() ? kept : refused) += 1;
                  });
  }
  ASSERT_TRUE(store->Flush().ok());
  EXPECT_EQ(kept, 8);
  EXPECT_EQ(refused, 1);
  const auto status = store->ReadStatus("default");
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(status->events, 8);
  EXPECT_EQ(status->counters.at("groups_taken_apart"), 1);
}

TEST_F(ClickhouseStoreTest, CompressionChangesNothing) {
  std::string url = factory_.url();
  url += url.find('?') == std::string::npos ? "?compression=gzip" : "&compression=gzip";
  auto store = OpenClickhouseStore(url);
  ASSERT_TRUE(store.ok()) << store.error().message;
  ASSERT_TRUE(
      (*store)->AppendAndWait(BatchBuilder().Span(T(1), 1, 0, kT0, 10).Text("k", "v").Take()).ok());
  const auto read = (*store)->ReadTrace("default", T(1));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->size(), 1u);
}

}  // namespace
}  // namespace wf::store::clickhouse
