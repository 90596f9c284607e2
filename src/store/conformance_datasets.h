// Conformance: saved texts, and rows of datasets: written whole or not at all, replaced by trace, asked in every way.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "store/conformance.h"
#include "store/row_query.h"
#include "store/rows_builder.h"

namespace wf::store {

inline ColumnCondition Where(std::string column, CompareOp op,
                             std::vector<ColumnLiteral> values = {}) {
  return {std::move(column), op, false, std::move(values)};
}
inline Aggregate Agg(AggregateKind kind, std::string column = "", double percentile = 0) {
  return {kind, column, percentile, "a" + std::to_string(static_cast<int>(kind)) + column};
}

class DatasetConformance : public StoreConformance {
 protected:
  void Write(const DatasetTable& rows, const RowReplacement& replace = {},
             const std::string& tenant = "default", const std::string& dataset = "pages") {
    const Status status = store_->WriteRows(tenant, dataset, rows, replace);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  std::vector<std::string> Ask(const DatasetQuery& query, const std::string& tenant = "default",
                               const std::string& dataset = "pages") {
    auto rows = store_->QueryRows(tenant, dataset, query);
    if (!rows.ok()) return {"error: " + rows.error().message};
    return Lines(rows->table);
  }
  // Country, latency, ratio, cached.
  static const std::vector<ColumnDefinition>& PageColumns() {
    static const std::vector<ColumnDefinition> columns = {{"country", ColumnType::kText},
                                                          {"latency_ns", ColumnType::kInt},
                                                          {"ratio", ColumnType::kDouble},
                                                          {"cached", ColumnType::kBool}};
    return columns;
  }
  static DatasetTable Pages() {
    RowsBuilder b(PageColumns());
    b.Row(T(1), kT0, "", {"de", int64_t{10}, 0.5, int64_t{1}});
    b.Row(T(2), kT0 + kMinute, "", {"de", int64_t{30}, 0.25, int64_t{0}});
    b.Row(T(3), kT0 + kMinute + 1, "", {"fr", int64_t{20}, {}, int64_t{1}});
    b.Row(T(4), kT0 + 2 * kMinute, "", {{}, int64_t{-5}, 1.5, {}});
    return b.table();
  }
};

TEST_P(DatasetConformance, DocumentsAreKeptByKindAndReplaced) {
  ASSERT_TRUE(store_->PutDocument("default", "dataset", "b", "one").ok());
  ASSERT_TRUE(store_->PutDocument("default", "dataset", "a", std::string("x\0y", 3)).ok());
  ASSERT_TRUE(store_->PutDocument("default", "dashboard", "b", "other kind").ok());
  ASSERT_TRUE(store_->PutDocument("tenant2", "dataset", "b", "other tenant").ok());
  ASSERT_TRUE(store_->PutDocument("default", "dataset", "b", "two").ok());
  for (const char* when : {"written", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("reopened")) Reopen();
    const auto read = store_->ReadDocuments("default", "dataset");
    ASSERT_TRUE(read.ok()) << read.error().message;
    ASSERT_EQ(read->size(), 2u);
    EXPECT_EQ((*read)[0].name, "a");
    EXPECT_EQ((*read)[0].text, std::string("x\0y", 3));
    EXPECT_EQ((*read)[1].text, "two");
    EXPECT_GT((*read)[1].written_ns, 0);
  }
  ASSERT_TRUE(store_->DeleteDocument("default", "dataset", "a").ok());
  const Status again = store_->DeleteDocument("default", "dataset", "a");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->ReadDocuments("default", "dataset")->size(), 1u);
  EXPECT_EQ(store_->ReadDocuments("tenant2", "dataset")->size(), 1u);
}

TEST_P(DatasetConformance, GivesBackRowsNewestFirst) {
  Write(Pages());
  for (const char* when : {"written", "flushed", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("flushed")) Flush();
    if (when == std::string("reopened")) Reopen();
    const auto lines = Ask({});
    ASSERT_EQ(lines.size(), 4u) << lines[0];
    EXPECT_EQ(lines[0],
              ToHex(T(4)) + "|" + std::to_string(kT0 + 2 * kMinute) + "||1|null|-5|1.5|null");
    EXPECT_EQ(lines[3], ToHex(T(1)) + "|" + std::to_string(kT0) + "||1|de|10|0.5|1");
    EXPECT_EQ(Ask({}, "tenant2"), std::vector<std::string>{"error: dataset pages: no rows"});
  }
}

TEST_P(DatasetConformance, FiltersByEveryComparison) {
  Write(Pages());
  const auto keys = [&](std::vector<ColumnCondition> where) {
    DatasetQuery query;
    query.where = std::move(where);
    query.columns = {"latency_ns"};
    query.order = {{"latency_ns", SortDirection::kAscending}};
    return Ask(query);
  };
  using Op = CompareOp;
  EXPECT_THAT(keys({Where("country", Op::kEq, {"de"})}), ::testing::ElementsAre("10", "30"));
  EXPECT_THAT(keys({Where("country", Op::kNe, {"de"})}), ::testing::ElementsAre("20"));
  EXPECT_THAT(keys({Where("country", Op::kMatches, {"^f"})}), ::testing::ElementsAre("20"));
  EXPECT_THAT(keys({Where("country", Op::kIn, {"fr", "it"})}), ::testing::ElementsAre("20"));
  EXPECT_THAT(keys({Where("country", Op::kExists)}), ::testing::ElementsAre("10", "20", "30"));
  EXPECT_THAT(keys({{"country", Op::kExists, true, {}}}), ::testing::ElementsAre("-5"));
  EXPECT_THAT(keys({{"country", Op::kEq, true, {"de"}}}), ::testing::ElementsAre("20"));
  EXPECT_THAT(keys({Where("latency_ns", Op::kGe, {int64_t{20}})}),
              ::testing::ElementsAre("20", "30"));
  EXPECT_THAT(keys({Where("latency_ns", Op::kLt, {10.5})}), ::testing::ElementsAre("-5", "10"));
  EXPECT_THAT(keys({Where("ratio", Op::kGt, {int64_t{1}})}), ::testing::ElementsAre("-5"));
  EXPECT_THAT(keys({Where("ratio", Op::kLe, {0.5}), Where("cached", Op::kEq, {true})}),
              ::testing::ElementsAre("10"));
  EXPECT_THAT(keys({Where("trace_id", Op::kEq, {ToHex(T(3))})}), ::testing::ElementsAre("20"));
  EXPECT_THAT(keys({Where("trace_id", Op::kIn, {ToHex(T(3)), "zz", ToHex(T(1))})}),
              ::testing::ElementsAre("10", "20"));
  EXPECT_THAT(keys({Where("trace_id", Op::kEq, {"nonsense"})}), ::testing::IsEmpty());
  EXPECT_THAT(keys({Where("time_ns", Op::kGt, {kT0 + kMinute})}),
              ::testing::ElementsAre("-5", "20"));
}

TEST_P(DatasetConformance, GroupsAggregatesAndOrders) {
  Write(Pages());
  DatasetQuery query;
  query.group_by = {"country"};
  using K = AggregateKind;
  query.aggregates = {Agg(K::kCount),
                      Agg(K::kSum, "latency_ns"),
                      Agg(K::kMean, "latency_ns"),
                      Agg(K::kMin, "ratio"),
                      Agg(K::kMax, "ratio"),
                      Agg(K::kPercentile, "latency_ns", 50),
                      Agg(K::kDistinct, "cached")};
  EXPECT_THAT(Ask(query),
              ::testing::ElementsAre("de|2|40|20|0.25|0.5|10|2", "fr|1|20|20|null|null|20|1",
                                     "null|1|-5|-5|1.5|1.5|-5|0"));
  query.aggregates = {Agg(K::kCount)};
  query.order = {{"a0", SortDirection::kDescending}};
  query.limit = 2;
  EXPECT_THAT(Ask(query), ::testing::ElementsAre("de|2", "fr|1"));
  EXPECT_TRUE(store_->QueryRows("default", "pages", query)->more);
  query.limit = 3;
  EXPECT_FALSE(store_->QueryRows("default", "pages", query)->more);
}

TEST_P(DatasetConformance, BucketsTime) {
  Write(Pages());
  DatasetQuery query;
  query.bucket_ns = kMinute;
  query.aggregates = {Agg(AggregateKind::kCount)};
  const Nanos first = BucketStart(kT0, kMinute);
  EXPECT_THAT(Ask(query), ::testing::ElementsAre(std::to_string(first) + "|1",
                                                 std::to_string(first + kMinute) + "|2",
                                                 std::to_string(first + 2 * kMinute) + "|1"));
  // Before 1970, and where no multiple is left below.
  RowsBuilder old(PageColumns());
  old.Row(T(9), -1, "", {{}, {}, {}, {}}).Row(T(8), INT64_MIN, "", {{}, {}, {}, {}});
  Write(old.table());
  const auto lines = Ask(query);
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[1], std::to_string(-kMinute) + "|1");
}

TEST_P(DatasetConformance, AggregatesOfNothing) {
  Write(Pages());
  DatasetQuery query;
  query.where = {Where("country", CompareOp::kEq, {"nowhere"})};
  using K = AggregateKind;
  query.aggregates = {Agg(K::kCount), Agg(K::kSum, "latency_ns"), Agg(K::kMean, "latency_ns"),
                      Agg(K::kPercentile, "latency_ns", 99), Agg(K::kDistinct, "country")};
  EXPECT_THAT(Ask(query), ::testing::ElementsAre("0|0|null|null|0"));
}

// What both dialects say alike. What neither may reach: duckdb_store_test.cc, dataset_writes_test.cc.
TEST_P(DatasetConformance, SqlSeesTheTenantsDatasetsAndNothingElse) {
  Write(Pages());
  if (!store_->Traits().sql) {
    const auto rows = store_->RunSql("default", "SELECT count(*) AS n FROM pages");
    ASSERT_FALSE(rows.ok());
    EXPECT_EQ(rows.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(rows.error().message, ::testing::HasSubstr("no SQL engine"));
    EXPECT_THAT(rows.error().hint, ::testing::HasSubstr("dataset query"));
    return;
  }
  Write(Pages(), {}, "tenant2", "theirs");
  const auto sql = [&](const std::string& text, const std::string& tenant = "default") {
    const auto rows = store_->RunSql(tenant, text);
    if (!rows.ok())
      return std::vector<std::string>{rows.error().code == ErrorCode::kBadInput ? "refused"
                                                                                : "failed"};
    EXPECT_FALSE(rows->dialect.empty());
    return Lines(rows->rows.table);
  };
  EXPECT_THAT(sql("SELECT country, count(*) AS n, sum(latency_ns) AS s FROM pages WHERE country "
                  "IS NOT NULL GROUP BY country ORDER BY country"),
              testing::ElementsAre("de|2|40", "fr|1|20"));
  Write(Pages(), {{T(1), T(2), T(3), T(4)}, {}});
  EXPECT_THAT(sql("SELECT count(*) AS n FROM pages"), testing::ElementsAre("4"))
      << "as they are now";
  EXPECT_THAT(sql("SELECT count(*) AS n FROM theirs"), testing::ElementsAre("refused"));
  EXPECT_THAT(sql("SELECT count(*) AS n FROM theirs", "tenant2"), testing::ElementsAre("4"));
  EXPECT_THAT(sql("SELECT nothing FROM pages"), testing::ElementsAre("refused"));
  EXPECT_THAT(sql("DROP TABLE pages"), testing::ElementsAre("refused"));
  EXPECT_THAT(sql("SELECT count(*) AS n FROM pages"), testing::ElementsAre("4"));
}

TEST_P(DatasetConformance, TenantsThatHaveRowsAloneAreListed) {
  Write(Pages(), {}, "rows", "pages");
  const auto tenants = store_->ReadTenants();
  ASSERT_TRUE(tenants.ok()) << tenants.error().message;
  ASSERT_EQ(tenants->size(), 1u);
  EXPECT_EQ(tenants->front().tenant, "rows");
  EXPECT_GT(tenants->front().bytes, 0);
}

TEST_P(DatasetConformance, PercentileIsTheNearestRank) {
  RowsBuilder b({{"v", ColumnType::kInt}});
  for (int64_t i = 1; i <= 20; ++i) b.Row(T(static_cast<uint64_t>(i)), kT0, "", {i});
  Write(b.table());
  for (const auto& [percentile, value] : std::vector<std::pair<double, std::string>>{
           {5, "1"}, {5.01, "2"}, {50, "10"}, {51, "11"}, {95, "19"}, {99, "20"}, {100, "20"}}) {
    DatasetQuery query;
    query.aggregates = {Agg(AggregateKind::kPercentile, "v", percentile)};
    EXPECT_THAT(Ask(query), ::testing::ElementsAre(value)) << percentile;
  }
}

TEST_P(DatasetConformance, ReprocessingReplacesATracesRows) {
  Write(Pages());
  RowsBuilder again(PageColumns());
  again.Row(T(2), kT0 + 50 * kSecond, "x", {"it", int64_t{31}, {}, {}});
  again.Row(T(2), kT0 + 50 * kSecond, "y", {"it", int64_t{32}, {}, {}});
  // Rows of the trace outside the range given stay: that is what the range promises.
  Write(again.table(), {{T(2), T(77)}, {kT0, kT0 + kHour}});
  DatasetQuery query;
  query.columns = {"country", "latency_ns", "row_key"};
  query.order = {{"latency_ns", SortDirection::kAscending}};
  EXPECT_THAT(Ask(query),
              ::testing::ElementsAre("null|-5|", "de|10|", "fr|20|", "it|31|x", "it|32|y"));
  // Replaced by nothing; by default wherever they lie.
  Write(RowsBuilder(PageColumns()).table(), {{T(2)}, {}});
  Write(DatasetTable(), {{T(1)}, {}});
  EXPECT_THAT(Ask(query), ::testing::ElementsAre("null|-5|", "fr|20|"));
  Write(DatasetTable(), {{T(1)}, {}}, "default", "never written");
}

TEST_P(DatasetConformance, ColumnsComeAndGoAndChangeTheirType) {
  Write(Pages());
  RowsBuilder b({{"country", ColumnType::kText},
                 {"latency_ns", ColumnType::kDouble},
                 {"extra", ColumnType::kStack}});
  b.Row(T(5), kT0 + kHour, "", {"es", 2.5, "main\nrun"});
  Write(b.table());
  for (const char* when : {"written", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("reopened")) Reopen();
    DatasetQuery query;
    query.columns = {"country", "latency_ns", "latency_ns@1", "extra", "cached"};
    query.order = {{"time_ns", SortDirection::kAscending}};
    query.columns.push_back("time_ns");
    const auto lines = Ask(query);
    ASSERT_EQ(lines.size(), 5u) << lines[0];
    EXPECT_EQ(lines[0], "de|null|10|null|1|" + std::to_string(kT0));
    EXPECT_EQ(lines[4], "es|2.5|null|main\nrun|null|" + std::to_string(kT0 + kHour));
  }
  // And back again: a third version, not the first one.
  Write(Pages());
  const auto status = store_->ReadDatasets("default");
  ASSERT_TRUE(status.ok()) << status.error().message;
  std::vector<std::string> names;
  for (const StoredColumn& column : (*status)[0].columns)
    names.push_back(column.definition.name + ":" +
                    std::string(ColumnTypeName(column.definition.type)));
  EXPECT_THAT(names, ::testing::ElementsAre("trace_id:text", "time_ns:int", "row_key:text",
                                            "complete:bool", "country:text", "latency_ns@1:int",
                                            "ratio:double", "cached:bool", "latency_ns@2:double",
                                            "extra:stack", "latency_ns:int"));
}

// Asks from two threads while `write` runs, until it is done and once more; returns how often each outcome was seen.
template <typename Ask, typename WriteAll>
std::map<std::string, int> OutcomesWhile(const Ask& ask, const WriteAll& write) {
  std::atomic<bool> done{false};
  std::mutex mutex;
  std::map<std::string, int> seen;
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back([&] {
      for (bool last = false; !last;) {
        last = done;
        const std::string outcome = ask();
        std::lock_guard lock(mutex);
        ++seen[outcome];
      }
    });
  }
  write();
  done = true;
  for (std::thread& asker : askers) asker.join();
  return seen;
}

TEST_P(DatasetConformance, AQuestionDuringTheFirstWriteMeetsNothingOrAllOfIt) {
  DatasetQuery query;
  query.where = {Where("latency_ns", CompareOp::kGt, {int64_t{-100}})};
  for (int round = 0; round < 5; ++round) {
    const std::string dataset = "fresh" + std::to_string(round);
    const auto seen = OutcomesWhile(
        [&]() -> std::string {
          const auto rows = store_->QueryRows("default", dataset, query);
          if (rows.ok()) return std::to_string(rows->table.rows()) + " rows";
          return rows.error().code == ErrorCode::kNotFound ? "nothing" : rows.error().message;
        },
        [&] { Write(Pages(), {}, "default", dataset); });
    for (const auto& [outcome, times] : seen)
      EXPECT_TRUE(outcome == "nothing" || outcome == "4 rows") << outcome;
    EXPECT_EQ(seen.count("4 rows"), 1u);
  }
}

TEST_P(DatasetConformance, WritersWhoMeetAtTheFirstWriteBothKeepTheirRows) {
  for (int round = 0; round < 5; ++round) {
    const std::string dataset = "met" + std::to_string(round);
    std::vector<std::thread> writers;
    for (int i = 0; i < 3; ++i)
      writers.emplace_back([&] { Write(Pages(), {}, "default", dataset); });
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(Ask({}, "default", dataset).size(), 12u);
  }
}

TEST_P(DatasetConformance, AQuestionWhileAColumnIsAddedMeetsOneStateOrTheOther) {
  Write(Pages());
  DatasetQuery query;  // all columns, whatever there are
  const auto seen = OutcomesWhile(
      [&]() -> std::string {
        const auto rows = store_->QueryRows("default", "pages", query);
        if (!rows.ok()) return rows.error().message;
        const size_t columns = rows->table.columns.size(), count = rows->table.rows();
        for (const TableColumn& column : rows->table.columns)
          if (column.size() != count) return "columns of different lengths";
        // A row more with every column more; a question sees the two together, or the rows of an earlier list of columns.
        if (columns < 8 || columns > 14 || count + 4 < columns || count > 10) {
          return std::to_string(columns) + " columns of " + std::to_string(count) + " rows";
        }
        return "good";
      },
      [&] {
        for (int64_t extra = 0; extra < 6; ++extra) {
          RowsBuilder b({{"extra" + std::to_string(extra), ColumnType::kInt}});
          b.Row(T(100 + static_cast<uint64_t>(extra)), kT0 + kHour, "", {extra});
          Write(b.table());
        }
      });
  EXPECT_EQ(seen.size(), 1u) << ::testing::PrintToString(seen);
  EXPECT_EQ(seen.count("good"), 1u);
  EXPECT_EQ(Ask({}).size(), 10u);
}

TEST_P(DatasetConformance, RefusesWhatTheColumnsDoNotHave) {
  Write(Pages());
  const auto refused = [&](const DatasetQuery& query) {
    const auto rows = store_->QueryRows("default", "pages", query);
    EXPECT_FALSE(rows.ok());
    return rows.ok() ? std::string() : rows.error().message + " " + rows.error().hint;
  };
  DatasetQuery query;
  query.where = {Where("contry", CompareOp::kEq, {"de"})};
  EXPECT_THAT(refused(query), ::testing::HasSubstr("did you mean \"country\""));
  query.where = {Where("latency_ns", CompareOp::kEq, {"de"})};
  EXPECT_THAT(refused(query), ::testing::HasSubstr("compare it with a number"));
  query.where = {Where("latency_ns", CompareOp::kMatches, {"1"})};
  EXPECT_THAT(refused(query), ::testing::HasSubstr("~ is for texts"));
  query.where = {};
  query.aggregates = {Agg(AggregateKind::kMean, "country")};
  EXPECT_THAT(refused(query), ::testing::HasSubstr("not a number"));
  query.aggregates = {Agg(AggregateKind::kCount)};
  query.order = {{"country", SortDirection::kAscending}};
  EXPECT_THAT(refused(query), ::testing::HasSubstr("not in it"));
}

// Every text that people choose, at every place it can stand.
TEST_P(DatasetConformance, HostileNamesAreNamesOnly) {
  Write(Pages());
  const std::vector<std::string> names = {"x\"; DROP TABLE rows; --",
                                          "'",
                                          "''; DROP SCHEMA x",
                                          "\"",
                                          "a b",
                                          "日本",
                                          "select",
                                          "$1",
                                          "?",
                                          "\\",
                                          std::string("nul\0l", 5),
                                          "c0",
                                          "rows"};
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    RowsBuilder b({{name, ColumnType::kText}, {name + "2", ColumnType::kInt}});
    b.Row(T(1), kT0, name, {name, int64_t{7}});
    Write(b.table(), {}, "default", name);
    DatasetQuery query;
    query.where = {Where(name, CompareOp::kEq, {name}), Where("row_key", CompareOp::kIn, {name})};
    query.group_by = {name};
    query.aggregates = {Agg(AggregateKind::kSum, name + "2")};
    query.aggregates[0].name = name + "3";
    query.order = {{name + "3", SortDirection::kDescending}};
    EXPECT_THAT(Ask(query, "default", name), ::testing::ElementsAre(name + "|7"));
    ASSERT_TRUE(store_->DropDataset("default", name).ok());
  }
  EXPECT_EQ(Ask({}).size(), 4u);
  EXPECT_EQ(store_->ReadDatasets("default")->size(), 1u);
}

TEST_P(DatasetConformance, TextsThatAreNoTextAreRepaired) {
  RowsBuilder b({{"t", ColumnType::kText}});
  b.Row(T(1), kT0, "", {std::string("a\xff") + "b"});
  Write(b.table());
  DatasetQuery query;
  query.columns = {"t"};
  EXPECT_THAT(Ask(query), ::testing::ElementsAre("a\xEF\xBF\xBD"
                                                 "b"));
}

TEST_P(DatasetConformance, CountsTheQueriesThatUsedAColumn) {
  Write(Pages());
  DatasetQuery query;
  query.where = {Where("country", CompareOp::kEq, {"de"})};
  query.aggregates = {Agg(AggregateKind::kMean, "latency_ns")};
  Ask(query);
  query.where = {Where("time_ns", CompareOp::kGe, {int64_t{0}})};
  Ask(query);
  query.counting = DatasetQuery::Counting::kDoNotCount;
  Ask(query);
  for (const char* when : {"asked", "written", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("written")) Write(Pages());
    if (when == std::string("reopened")) Reopen();
    const auto status = store_->ReadDatasets("default");
    ASSERT_TRUE(status.ok()) << status.error().message;
    std::map<std::string, int64_t> queries;
    for (const StoredColumn& column : (*status)[0].columns)
      queries[column.definition.name] = column.queries;
    EXPECT_EQ(queries["latency_ns"], 2);
    EXPECT_EQ(queries["country"], 1);
    EXPECT_EQ(queries["time_ns"], 1);
    EXPECT_EQ(queries["ratio"], 0);
  }
}

TEST_P(DatasetConformance, DroppedDatasetsAreGone) {
  Write(Pages());
  Write(Pages(), {}, "tenant2");
  Write(Pages(), {}, "default", "other");
  ASSERT_TRUE(store_->DropDataset("default", "pages").ok());
  ASSERT_TRUE(store_->DropDataset("default", "pages").ok());
  for (const char* when : {"dropped", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("reopened")) Reopen();
    EXPECT_EQ(Ask({})[0], "error: dataset pages: no rows");
    EXPECT_EQ(Ask({}, "tenant2").size(), 4u);
    const auto status = store_->ReadDatasets("default");
    ASSERT_EQ(status->size(), 1u);
    EXPECT_EQ((*status)[0].name, "other");
    EXPECT_EQ((*status)[0].rows, 4);
    EXPECT_EQ((*status)[0].oldest_ns, kT0);
    EXPECT_EQ((*status)[0].newest_ns, kT0 + 2 * kMinute);
  }
  Write(Pages());
  EXPECT_EQ(Ask({}).size(), 4u);
}

// 20,000 rows of 60 days ago and 1,000 of today; the old ones are thinned to about a tenth, and answers still mean all.
TEST_P(DatasetConformance, SubsampledRowsCountForThoseThatAreGone) {
  const Nanos now = Now();
  RowsBuilder b({{"v", ColumnType::kInt}, {"half", ColumnType::kText}});
  for (uint64_t i = 0; i < 20'000; ++i)
    b.Row(T(i + 1), now - 60 * kDay + static_cast<Nanos>(i), "",
          {static_cast<int64_t>(MixBits(i) % 1000), i % 2 == 0 ? "even" : "odd"});
  for (uint64_t i = 0; i < 1'000; ++i)
    b.Row(T(i + 100'001), now - kHour, "", {int64_t{500}, "new"});
  Write(b.table());
  const RowRetention retention{90 * kDay, 30 * kDay, 10};
  ASSERT_TRUE(store_->RetainRows("default", "pages", retention).ok());
  ASSERT_TRUE(store_->RetainRows("default", "pages", retention).ok());  // no second thinning
  const auto status = store_->ReadDatasets("default");
  ASSERT_TRUE(status.ok()) << status.error().message;
  const int64_t kept = (*status)[0].rows;
  EXPECT_GT(kept, 1'000 + 1'600);
  EXPECT_LT(kept, 1'000 + 2'400);
  EXPECT_TRUE((*status)[0].sampled_before.has_value());
  for (const char* when : {"thinned", "reopened"}) {
    SCOPED_TRACE(when);
    if (when == std::string("reopened")) Reopen();
    DatasetQuery query;
    using K = AggregateKind;
    query.aggregates = {Agg(K::kCount), Agg(K::kMean, "v"), Agg(K::kPercentile, "v", 50),
                        Agg(K::kSum, "v")};
    const auto rows = store_->QueryRows("default", "pages", query);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_TRUE(rows->estimated);
    ASSERT_EQ(rows->table.columns.size(), 12u);
    EXPECT_EQ(rows->table.columns[1].definition.name, "a0_low");
    const auto number = [&](size_t c) {
      const TableColumn& column = rows->table.columns[c];
      return column.doubles.empty() ? static_cast<double>(column.numbers[0]) : column.doubles[0];
    };
    // Half as wide again as 95% bounds: which rows stay is decided by a hash, so this cannot fail now and then.
    const auto around = [&](size_t c, double truth) {
      const double slack = (number(c + 2) - number(c + 1)) / 2;
      // Bounds of a percentile are values, and one row in twenty has the very value of the median: they may coincide.
      if (c != 6) {
        EXPECT_GT(slack, 0) << c;
      }
      EXPECT_NEAR(number(c), truth, 1.5 * slack) << c;
      EXPECT_LE(number(c + 1), number(c)) << c;
      EXPECT_LE(number(c), number(c + 2)) << c;
    };
    around(0, 21'000);
    around(3, 499.5);
    around(6, 500);
    around(9, 499.5 * 21'000);
    // What was not thinned is exact, and says so.
    query.where = {Where("time_ns", CompareOp::kGe, {now - kDay})};
    const auto exact = store_->QueryRows("default", "pages", query);
    ASSERT_TRUE(exact.ok());
    EXPECT_FALSE(exact->estimated);
    EXPECT_THAT(Lines(exact->table), ::testing::ElementsAre("1000|500|500|500000"));
    // Rows that were not thinned add nothing to the width.
    query.where = {Where("half", CompareOp::kEq, {"new"})};
    EXPECT_THAT(Ask(query), ::testing::ElementsAre(
                                "1000|1000|1000|500|500|500|500|500|500|500000|500000|500000"));
  }
}

TEST_P(DatasetConformance, AggregatesOfNoRowsAreNullOrZero) {
  Write(Pages());
  DatasetQuery query;
  query.where = {Where("country", CompareOp::kEq, {"nowhere"})};
  using K = AggregateKind;
  for (const char* column : {"time_ns", "latency_ns", "ratio"}) {
    query.aggregates = {Agg(K::kCount, column),         Agg(K::kSum, column),
                        Agg(K::kDistinct, column),      Agg(K::kMean, column),
                        Agg(K::kMin, column),           Agg(K::kMax, column),
                        Agg(K::kPercentile, column, 50)};
    EXPECT_THAT(Ask(query), ::testing::ElementsAre("0|0|0|null|null|null|null")) << column;
  }
}

// Every engine's estimates are those that row_query.h makes of the rows that are left.
TEST_P(DatasetConformance, EstimatesFollowTheFormulas) {
  const Nanos now = Now() / kSecond * kSecond;
  RowsBuilder b(PageColumns());
  using Value = RowsBuilder::Value;
  const Value kNull;
  constexpr std::array kCountries = {"de", "fr", "it", "es", "se"};
  for (uint64_t i = 0; i < 6'000; ++i) {
    const uint64_t r = MixBits(i);
    // Old ones are faster, so that weights and values are not independent of each other.
    const bool old = i % 6 != 0;
    const Nanos time = old ? now - 60 * kDay : now - kHour;
    const auto latency = static_cast<int64_t>(r % (old ? 500 : 900)) - 20;
    b.Row(T(i + 1), time + static_cast<Nanos>(r % 600) * kSecond, "",
          {r % 7 == 0 ? kNull : Value(kCountries[r % 5]), r % 11 == 0 ? kNull : Value(latency),
           r % 13 == 0 ? kNull : Value(static_cast<double>(r % 64) / 4 - 5),
           int64_t{r % 3 == 0 ? 1 : 0}});
  }
  b.Row(T(100'001), now - 60 * kDay, "", {"nothing", {}, {}, {}});
  Write(b.table());
  ASSERT_TRUE(store_->RetainRows("default", "pages", {90 * kDay, 30 * kDay, 10}).ok());
  DatasetQuery everything;
  everything.limit = 10'000;
  const auto left = store_->QueryRows("default", "pages", everything);
  ASSERT_TRUE(left.ok()) << left.error().message;
  ASSERT_LT(left->table.rows(), 2'000u);
  using K = AggregateKind;
  const auto text_aggregates = {Agg(K::kCount), Agg(K::kCount, "country"), Agg(K::kMin, "country"),
                                Agg(K::kMax, "country"), Agg(K::kDistinct, "country")};
  for (uint64_t draw = 0; draw < 12; ++draw) {
    auto pick = [n = draw * 100](uint64_t of) mutable { return MixBits(++n) % of; };
    DatasetQuery query;
    query.aggregates = text_aggregates;
    for (const char* column : {"latency_ns", "ratio", "cached", "time_ns"}) {
      for (const K kind : {K::kCount, K::kSum, K::kMean, K::kMin, K::kMax, K::kDistinct}) {
        // A double cannot add times up to the last digit.
        if (column == std::string("time_ns") && (kind == K::kSum || kind == K::kMean)) continue;
        query.aggregates.push_back(Agg(kind, column));
      }
      query.aggregates.push_back(
          Agg(K::kPercentile, column, 0.1 + static_cast<double>(pick(999)) / 10));
    }
    if (pick(2) == 0) query.group_by.emplace_back("country");
    if (pick(3) == 0) query.group_by.emplace_back("cached");
    if (pick(2) == 0) query.bucket_ns = kMinute;
    if (pick(2) == 0) query.limit = 1 + pick(9);
    if (pick(2) == 0)
      query.order = {{query.aggregates[pick(query.aggregates.size())].name,
                      pick(2) == 0 ? SortDirection::kAscending : SortDirection::kDescending}};
    if (pick(3) == 0) query.where = {Where("latency_ns", CompareOp::kGt, {int64_t{100}})};
    if (pick(5) == 0) query.where = {Where("country", CompareOp::kEq, {"nothing"})};
    if (pick(9) == 0) query.where = {Where("country", CompareOp::kEq, {"nowhere"})};
    DatasetTable matching;
    for (const TableColumn& column : left->table.columns)
      matching.columns.emplace_back().definition = column.definition;
    std::vector<int64_t> weights;
    for (size_t row = 0; row < left->table.rows(); ++row) {
      if (!RowMatches(query.where, left->table, row)) continue;
      weights.push_back(left->table.columns[1].numbers[row] < now - kDay ? 10 : 1);
      for (size_t i = 0; i < matching.columns.size(); ++i)
        CopyCell(left->table.columns[i], row, matching.columns[i]);
    }
    std::vector<ColumnDefinition> columns;
    for (const TableColumn& column : matching.columns) columns.push_back(column.definition);
    RowAggregator aggregator(columns, query, Bounds::kShow);
    aggregator.Add(matching, weights);
    const DatasetRows expected = aggregator.Finish();
    const auto got = store_->QueryRows("default", "pages", query);
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(got->estimated);
    EXPECT_EQ(got->more, expected.more);
    ASSERT_EQ(got->table.columns.size(), expected.table.columns.size());
    ASSERT_EQ(Lines(got->table), Lines(expected.table)) << "question " << draw;
  }
}

TEST_P(DatasetConformance, RetentionDeletesOldRows) {
  const Nanos now = Now();
  RowsBuilder b({{"v", ColumnType::kInt}});
  for (uint64_t i = 0; i < 100; ++i)
    b.Row(T(i + 1), now - static_cast<Nanos>(i) * kDay, "", {static_cast<int64_t>(i)});
  Write(b.table());
  for (const int64_t days : {95, 40}) {  // few go: in place; many: by a copy
    ASSERT_TRUE(store_->RetainRows("default", "pages", {days * kDay - kHour, {}, 10}).ok());
    EXPECT_EQ(Ask({}).size(), static_cast<size_t>(days));
  }
  Write(b.table(), {{T(1)}, {}});
  Reopen();
  EXPECT_EQ(Ask({}).size(), 39u + 100u);
  ASSERT_TRUE(store_->RetainRows("default", "nothing", {kDay, {}, 10}).ok());
}

}  // namespace wf::store
