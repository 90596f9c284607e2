// Writers of one dataset in several processes, writes that break off, and what retention sweeps up: on the servers that
// WHEREFORE_CLICKHOUSE_URL names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "store/clickhouse/clickhouse_factory_test.h"
#include "store/clickhouse/dataset_sql.h"
#include "store/clickhouse/datasets.h"
#include "store/clickhouse/store_impl.h"
#include "store/conformance.h"
#include "store/rows_builder.h"

namespace wf::store::clickhouse {
namespace {

Aggregate Agg(AggregateKind kind, std::string column = "", double percentile = 0) {
  return {kind, column, percentile, "a" + std::to_string(static_cast<int>(kind)) + column};
}

class DatasetWrites : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = Open();
    other_ = Open();
  }
  std::unique_ptr<Store> Open() {
    auto opened = factory_.Open();
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static TraceId T(uint64_t n) { return {MixBits(n), n}; }
  static DatasetTable Rows(uint64_t first, uint64_t count, int64_t v) {
    RowsBuilder b({{"v", ColumnType::kInt}});
    for (uint64_t i = first; i < first + count; ++i)
      b.Row(T(i), kT0 + static_cast<Nanos>(i), "", {v});
    return b.table();
  }
  static RowReplacement Replacing(uint64_t first, uint64_t count) {
    RowReplacement replace;
    for (uint64_t i = first; i < first + count; ++i) replace.traces.push_back(T(i));
    return replace;
  }
  std::vector<std::string> Sums(Store& store) {
    DatasetQuery query;
    query.aggregates = {Agg(AggregateKind::kCount), Agg(AggregateKind::kSum, "v")};
    const auto rows = store.QueryRows("default", "d", query);
    if (!rows.ok()) return {rows.error().message};
    return Lines(rows->table);
  }
  Status Write(Store& store, const DatasetTable& rows, const RowReplacement& replace = {}) {
    return store.WriteRows("default", "d", rows, replace);
  }
  int64_t CountOnServers(const std::string& table) {
    int64_t total = 0;
    for (size_t shard = 0; shard < factory_.client().shards(); ++shard) {
      const auto answer = factory_.client().Ask(
          shard, "counting",
          fmt::format("SELECT toInt64(count()) FROM {} FORMAT RowBinary", table));
      EXPECT_TRUE(answer.ok()) << answer.error().message;
      if (answer.ok()) total += clickhouse::RowReader(*answer).Number<int64_t>();
    }
    return total;
  }

  ClickhouseFactory factory_;
  std::unique_ptr<Store> store_, other_;
};

TEST_F(DatasetWrites, OfTwoProcessesTheLaterReplacementWinsWhole) {
  ASSERT_TRUE(Write(*store_, Rows(0, 100, 1)).ok());
  ASSERT_TRUE(Write(*other_, Rows(0, 100, 2), Replacing(0, 100)).ok());
  EXPECT_THAT(Sums(*store_), ::testing::ElementsAre("100|200"));
  ASSERT_TRUE(Write(*store_, Rows(50, 50, 3), Replacing(50, 50)).ok());
  EXPECT_THAT(Sums(*other_), ::testing::ElementsAre("100|250"));
  // Again the same, as after a crash: nothing doubles.
  ASSERT_TRUE(Write(*other_, Rows(50, 50, 3), Replacing(50, 50)).ok());
  EXPECT_THAT(Sums(*store_), ::testing::ElementsAre("100|250"));
}

TEST_F(DatasetWrites, ReadersOfAnotherProcessSeeAWriteOverAllShardsAtOnce) {
  ASSERT_TRUE(Write(*store_, Rows(0, 200, 1)).ok());
  std::atomic<bool> done{false};
  std::set<std::string> seen;
  std::thread reader([&] {
    for (bool last = false; !last;) {
      last = done;
      seen.insert(Sums(*other_)[0]);
    }
  });
  for (int64_t v = 2; v <= 8; ++v)
    EXPECT_TRUE(Write(*store_, Rows(0, 200, v), Replacing(0, 200)).ok());
  done = true;
  reader.join();
  for (const std::string& outcome : seen) {
    // 200 rows, all of one version.
    ASSERT_EQ(outcome.rfind("200|", 0), 0u) << outcome;
    EXPECT_EQ(std::stoll(outcome.substr(4)) % 200, 0) << outcome;
  }
}

TEST_F(DatasetWrites, WhatIsNotCommittedIsNotSeenAndIsSweptUp) {
  ASSERT_TRUE(Write(*store_, Rows(0, 10, 1)).ok());
  ASSERT_TRUE(Write(*store_, Rows(5, 5, 2), Replacing(5, 5)).ok());
  clickhouse::Client& client = factory_.client();
  const clickhouse::TableNames names(client.url());
  clickhouse::DatasetLog log(client, names);
  const auto state = log.Read("default", "d", 0);
  ASSERT_TRUE(state.ok()) << state.error().message;
  // A writer that died before its commit: rows and replacements on every shard.
  const std::string rows = names.Local(state->rows_table());
  for (size_t shard = 0; shard < client.shards(); ++shard) {
    ASSERT_TRUE(
        client
            .Run(shard, "dying",
                 fmt::format("INSERT INTO {} (trace_hi, trace_lo, time_ns, row_key, complete, "
                             "weight, process, written) SELECT number, number, {}, '', 1, 1, "
                             "9223372036854775809, 77 FROM system.numbers LIMIT 20",
                             rows, kT0))
            .ok());
    ASSERT_TRUE(client
                    .Run(shard, "dying",
                         fmt::format("INSERT INTO {} (trace_hi, trace_lo, process, written) SELECT "
                                     "trace_hi, trace_lo, 9223372036854775809, {} FROM {}",
                                     names.Local(state->replacements_table()), UINT64_MAX, rows))
                    .ok());
  }
  EXPECT_THAT(Sums(*other_), ::testing::ElementsAre("10|15"));
  const auto stored = static_cast<int64_t>(20 * client.shards());
  EXPECT_EQ(CountOnServers(rows), 15 + stored);
  clickhouse::ServerFeatures features;
  features.version = *client.ReadVersion(0);
  const clickhouse::Placement placement({client.shards()});
  clickhouse::Datasets datasets(client, names, features, placement, kSecond);
  const Status vacuumed = datasets.Vacuum(*state, static_cast<uint64_t>(Now()));
  ASSERT_TRUE(vacuumed.ok()) << vacuumed.error().message;
  EXPECT_EQ(CountOnServers(rows), 10) << "only rows that count are left";
  EXPECT_THAT(Sums(*store_), ::testing::ElementsAre("10|15"));
  ASSERT_TRUE(Write(*store_, Rows(0, 2, 7), Replacing(0, 2)).ok());
  EXPECT_THAT(Sums(*other_), ::testing::ElementsAre("10|27"));
}

TEST_F(DatasetWrites, AClockThatJumpsBackDoesNotBringOldRowsBack) {
  ASSERT_TRUE(Write(*store_, Rows(0, 10, 1)).ok());
  // As if somebody with a clock far ahead had written.
  clickhouse::Client& client = factory_.client();
  const clickhouse::TableNames names(client.url());
  clickhouse::DatasetLog log(client, names);
  const auto state = log.Read("default", "d", 0);
  ASSERT_TRUE(state.ok());
  const auto ahead = static_cast<uint64_t>(Now() + 365 * kDay);
  ASSERT_TRUE(
      log.Commit(*state, (uint64_t{1} << 63) | 5, ahead, clickhouse::DatasetLog::Replacing::kYes)
          .ok());
  ASSERT_TRUE(Write(*other_, Rows(0, 10, 2), Replacing(0, 10)).ok());
  ASSERT_TRUE(Write(*store_, Rows(0, 10, 3), Replacing(0, 10)).ok());
  EXPECT_THAT(Sums(*other_), ::testing::ElementsAre("10|30"));
}

TEST_F(DatasetWrites, ADatasetDroppedByAnotherProcessBeginsAnew) {
  ASSERT_TRUE(Write(*store_, Rows(0, 10, 1)).ok());
  ASSERT_TRUE(other_->DropDataset("default", "d").ok());
  EXPECT_THAT(Sums(*store_)[0], ::testing::HasSubstr("dataset d: no rows"));
  ASSERT_TRUE(Write(*store_, Rows(0, 3, 1)).ok());
  EXPECT_THAT(Sums(*other_), ::testing::ElementsAre("3|3"));
}

TEST_F(DatasetWrites, TwoProcessesAddTheSameColumnsAtOnce) {
  std::vector<std::thread> writers;
  for (Store* store : {store_.get(), other_.get()}) {
    writers.emplace_back([this, store] {
      for (int64_t i = 0; i < 5; ++i) {
        RowsBuilder b({{"v", ColumnType::kInt}, {"w" + std::to_string(i), ColumnType::kText}});
        b.Row(T(1), kT0, "", {i, "x"});
        const Status written = Write(*store, b.table());
        EXPECT_TRUE(written.ok()) << written.error().message;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_THAT(Sums(*store_), ::testing::ElementsAre("10|20"));
  const auto datasets = other_->ReadDatasets("default");
  ASSERT_TRUE(datasets.ok());
  EXPECT_EQ((*datasets)[0].columns.size(), 4u + 6u) << "each name once";
}

TEST_F(DatasetWrites, SumsBeyond64BitsAreHeldAtTheirEnds) {
  RowsBuilder b({{"v", ColumnType::kInt}, {"w", ColumnType::kInt}, {"x", ColumnType::kInt}});
  b.Row(T(1), kT0, "", {INT64_MAX, INT64_MIN, INT64_MAX});
  b.Row(T(2), kT0, "", {INT64_MAX, INT64_MIN, int64_t{-5}});
  b.Row(T(3), kT0, "", {int64_t{1}, int64_t{-1}, int64_t{2}});
  ASSERT_TRUE(Write(*store_, b.table()).ok());
  DatasetQuery query;
  for (const char* column : {"v", "w", "x"})
    query.aggregates.push_back(Agg(AggregateKind::kSum, column));
  const auto rows = store_->QueryRows("default", "d", query);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_THAT(
      Lines(rows->table),
      ::testing::ElementsAre("9223372036854775807|-9223372036854775808|9223372036854775804"));
}

// Grouping by a column of few values moves as many values, not the rows; also where rows were subsampled.
TEST_F(DatasetWrites, AQuestionMovesItsAnswerNotTheRows) {
  RowsBuilder b({{"country", ColumnType::kText}, {"v", ColumnType::kInt}});
  for (uint64_t i = 0; i < 20'000; ++i)
    b.Row(T(i), Now() - kDay, "", {i % 3 == 0 ? "de" : "fr", static_cast<int64_t>(i)});
  ASSERT_TRUE(Write(*store_, b.table()).ok());
  auto* store = dynamic_cast<ClickhouseStore*>(store_.get());
  ASSERT_NE(store, nullptr);
  DatasetQuery query;
  query.group_by = {"country"};
  query.aggregates = {Agg(AggregateKind::kCount), Agg(AggregateKind::kPercentile, "v", 99)};
  for (const bool sampled : {false, true}) {
    SCOPED_TRACE(sampled);
    if (sampled) {
      ASSERT_TRUE(store_->RetainRows("default", "d", {90 * kDay, kHour, 2}).ok());
    }
    const int64_t before = store->client().counts().bytes_received;
    const auto rows = store_->QueryRows("default", "d", query);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows->table.rows(), 2u);
    EXPECT_EQ(rows->estimated, sampled);
    EXPECT_LT(store->client().counts().bytes_received - before, 2000);
  }
}

class TypedSql : public DatasetWrites {
 protected:
  void SetUp() override {
    DatasetWrites::SetUp();
    RowsBuilder b(
        {{"country", ColumnType::kText}, {"v", ColumnType::kInt}, {"r", ColumnType::kDouble}});
    for (uint64_t i = 0; i < 30; ++i)
      b.Row(T(i), kT0 + static_cast<Nanos>(i), "",
            {i % 3 == 0 ? "de" : "f\tr\n", static_cast<int64_t>(i), {}});
    ASSERT_TRUE(Write(*store_, b.table()).ok());
    ASSERT_TRUE(store_->WriteRows("default", "other set", b.table()).ok());
    ASSERT_TRUE(store_->WriteRows("tenant2", "secret", b.table()).ok());
  }
  std::vector<std::string> Run(const std::string& sql, const std::string& tenant = "default") {
    const auto rows = store_->RunSql(tenant, sql);
    if (!rows.ok()) return {"error: " + rows.error().message};
    EXPECT_EQ(rows->dialect.rfind("ClickHouse ", 0), 0u);
    return Lines(rows->rows.table);
  }
};

TEST_F(TypedSql, AnswersOverDatasets) {
  EXPECT_THAT(Run("SELECT country, count(*) AS n, sum(v) FROM d GROUP BY country ORDER BY n"),
              ::testing::ElementsAre("de|10|135", "f\tr\n|20|300"));
  EXPECT_THAT(Run("SELECT count(*) AS n FROM \"d\" JOIN `other set` USING (trace_id)"),
              ::testing::ElementsAre("30"));
  EXPECT_THAT(
      Run("SELECT d.country, max(r), avg(v), toUInt64(18446744073709551615) FROM d WHERE v IN "
          "(SELECT max(v) FROM \"other set\") GROUP BY d.country"),
      ::testing::ElementsAre("f\tr\n|null|29|1.844674407e+19"));
  EXPECT_THAT(Run("SELECT min(trace_id) = lower(min(trace_id)), min(length(trace_id)) FROM d"),
              ::testing::ElementsAre("1|32"));
  EXPECT_THAT(Run("SELECT 1 -- without any"), ::testing::ElementsAre("1"));
}

TEST_F(TypedSql, ReachesNothingElse) {
  EXPECT_THAT(Run("SELECT * FROM secret")[0], ::testing::HasSubstr("there is no dataset secret"));
  EXPECT_EQ(Run("SELECT count(*) FROM secret", "tenant2"), std::vector<std::string>{"30"});
  // Names that the guard lets pass as names of a WITH find an empty database.
  EXPECT_THAT(
      Run("SELECT * FROM (WITH documents AS (SELECT 1) SELECT * FROM documents) AS a, documents")
          [0],
      ::testing::StartsWith("error: sql:"));
  EXPECT_THAT(Run("SELECT nothing FROM d")[0],
              ::testing::AllOf(::testing::StartsWith("error: sql:"),
                               ::testing::Not(::testing::HasSubstr("rows_"))));
}

// The wall behind the guard: the same settings, without it.
TEST_F(TypedSql, TheServerItselfRefusesToWriteOrReachOut) {
  clickhouse::Client& client = factory_.client();
  const std::string table = client.url().database + ".documents";
  ASSERT_THAT(Run("SELECT 1"), ::testing::ElementsAre("1"));  // makes the empty database
  for (const std::string& sql :
       {"DROP TABLE " + table, "INSERT INTO " + table + " (name) VALUES ('x')",
        std::string("SET readonly = 0"),
        "CREATE TABLE " + client.url().database + "_sql.x (a UInt8) ENGINE = Memory",
        std::string("SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')"),
        std::string("SELECT * FROM file('/etc/passwd', CSV, 'a String')"),
        std::string("SELECT * FROM remote('127.0.0.1:1', system.one)"),
        std::string("SELECT 1 SETTINGS max_threads = 7")}) {
    EXPECT_FALSE(
        client.AskIn(client.url().database + "_sql", "trying", sql, {{"readonly", "1"}}).ok())
        << sql;
  }
}

TEST_F(TypedSql, TooMuchMemoryEndsTheStatement) {
  const auto rows =
      store_->RunSql("default", "SELECT groupArray(arrayJoin(range(20000000))) FROM d");
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, ErrorCode::kEnvironment) << rows.error().message;
  EXPECT_THAT(rows.error().hint, ::testing::HasSubstr("1 GB"));
  EXPECT_THAT(Run("SELECT 1"), ::testing::ElementsAre("1"));
}

}  // namespace
}  // namespace wf::store::clickhouse
