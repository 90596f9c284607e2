// The answers about datasets, over a store in memory: what flags mean, and how rows are written.
#include "answer/dataset/dataset_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/dataset/dataset_rows_output.h"
#include "answer/frame/table_cell.h"
#include "answer/questions/questions.h"
#include "store/memory/memory_store.h"
#include "store/rows_builder.h"

namespace wf::answer {
namespace {

class DatasetAnswerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store::RowsBuilder b({{"country", ColumnType::kText}, {"latency_ns", ColumnType::kInt}});
    b.Row({1, 1}, 100, "", {"de", int64_t{10}});
    b.Row({1, 2}, 200, "", {"a,\"b\"\n", int64_t{30}});
    b.Row({1, 3}, 300, "", {"de", {}});
    ASSERT_TRUE(store_.WriteRows("default", "pages", b.table(), {}).ok());
  }
  std::string Ask(const std::string& argument,
                  std::vector<std::pair<std::string, std::string>> flags, std::string body = {}) {
    const AnswerContext context{store_, "default", "/nowhere", 1000, {}, {}};
    auto answer =
        wf::answer::Ask(context, {"dataset", argument, Params(std::move(flags)), std::move(body)});
    return answer.ok() ? answer->body : answer.error().message + " | " + answer.error().hint;
  }
  store::memory::MemoryStore store_;
};

TEST_F(DatasetAnswerTest, RowsAreObjectsUnderTheirColumns) {
  EXPECT_EQ(
      Ask("query/pages", {{"columns", "country, latency_ns"}, {"where", "latency_ns exists"}}),
      R"({"columns":[{"name":"country","type":"text"},{"name":"latency_ns","type":"int"}],)"
      R"("rows":[{"country":"a,\"b\"\n","latency_ns":30},{"country":"de","latency_ns":10}]})"
      "\n");
}

TEST_F(DatasetAnswerTest, GroupsComeMostFirstAndSayWhatWasCutOff) {
  EXPECT_EQ(Ask("query/pages", {{"group_by", "country"}, {"limit", "1"}}),
            R"({"columns":[{"name":"country","type":"text"},{"name":"count","type":"int"}],)"
            R"("rows":[{"country":"de","count":2}],"more":true})"
            "\n");
}

TEST_F(DatasetAnswerTest, TimesAreConditionsToo) {
  EXPECT_THAT(Ask("query/pages", {{"since", "200"}, {"until", "300"}, {"agg", "count"}}),
              ::testing::HasSubstr(R"("rows":[{"count":1}])"));
}

TEST_F(DatasetAnswerTest, CsvQuotesWhatItMust) {
  EXPECT_EQ(Ask("query/pages", {{"columns", "country,latency_ns"}, {"format", "csv"}}),
            "country,latency_ns\r\nde,\r\n\"a,\"\"b\"\"\n\",30\r\nde,10\r\n");
}

TEST_F(DatasetAnswerTest, ATerminalShowsDatesAndUnits) {
  store::RowsBuilder b({{"latency_ns", ColumnType::kInt},
                        {"css_bytes", ColumnType::kInt},
                        {"share", ColumnType::kDouble},
                        {"hits", ColumnType::kInt}});
  const Nanos start = 1'770'000'000 * kSecond;
  b.Row({1, 1}, start, "", {1'240'000'000, 10'240, 0.5, 7});
  b.Row({1, 2}, start + 123'456'789, "", {310'000, 12, 2.0, 1'770'000'000'000});
  b.Row({1, 3}, start + kSecond, "", {-kMilli, {}, {}, {}});
  ASSERT_TRUE(store_.WriteRows("default", "loads", b.table(), {}).ok());
  EXPECT_EQ(Ask("query/loads", {{"columns", "time_ns,latency_ns,css_bytes,share,hits"},
                                {"order", "hits"},
                                {"format", "text"}}),
            "                 time_ns  latency_ns  css_bytes  share           hits\n"
            "    2026-02-02T02:40:00Z      1.24 s    10.2 kB    0.5              7\n"
            "2026-02-02T02:40:00.123Z      310 µs       12 B      2  1770000000000\n"
            "    2026-02-02T02:40:01Z    -1.00 ms\n");
  const std::string grouped = Ask("query/loads", {{"agg", "max(latency_ns)"},
                                                  {"agg", "mean(latency_ns)"},
                                                  {"agg", "count"},
                                                  {"agg", "distinct(latency_ns)"},
                                                  {"format", "text"}});
  EXPECT_THAT(grouped, ::testing::HasSubstr("1.24 s"));
  EXPECT_THAT(grouped, ::testing::HasSubstr("413 ms"));  // the mean
  EXPECT_THAT(grouped, ::testing::EndsWith("  3\n")) << "a number of durations is a number";
  EXPECT_THAT(Ask("query/loads", {{"columns", "time_ns,share"}, {"limit", "1"}}),
              ::testing::HasSubstr(R"("rows":[{"time_ns":1770000001000000000,"share":null}])"));
}

TEST_F(DatasetAnswerTest, UnitsStandInTheNamesOfColumns) {
  EXPECT_EQ(UnitOfColumn("time_ns"), CellUnit::kInstant);
  EXPECT_EQ(UnitOfColumn("max(time_ns)"), CellUnit::kInstant);
  EXPECT_EQ(UnitOfColumn("latency_ns"), CellUnit::kDuration);
  EXPECT_EQ(UnitOfColumn("p99.9(latency_ns)_high"), CellUnit::kDuration);
  EXPECT_EQ(UnitOfColumn("sum(css_bytes)"), CellUnit::kBytes);
  EXPECT_EQ(UnitOfColumn("bytes"), CellUnit::kBytes);
  EXPECT_EQ(UnitOfColumn("kilobytes"), CellUnit::kNone);
  EXPECT_EQ(UnitOfColumn("count"), CellUnit::kNone);
  EXPECT_EQ(UnitOfColumn("distinct(latency_ns)"), CellUnit::kNone);
  EXPECT_EQ(UnitOfColumn(""), CellUnit::kNone);
}

TEST_F(DatasetAnswerTest, RefusalsNameTheFlagAndTheNextStep) {
  EXPECT_THAT(Ask("query/pages", {{"where", "latency_ns >"}}), ::testing::StartsWith("--where: "));
  EXPECT_THAT(Ask("query/pages", {{"wher", "x"}}), ::testing::HasSubstr("known: "));
  EXPECT_THAT(Ask("query/pages", {{"columns", "country"}, {"agg", "count"}}),
              ::testing::HasSubstr("use --group-by and --agg"));
  EXPECT_THAT(Ask("query/calls", {}), ::testing::HasSubstr("dataset backfill calls"));
  EXPECT_THAT(Ask("query/pagess", {}), ::testing::HasSubstr("no such dataset"));
  EXPECT_THAT(Ask("query", {}), ::testing::HasSubstr("no dataset given"));
  EXPECT_THAT(Ask("list/x", {}), ::testing::HasSubstr("takes no name"));
  EXPECT_THAT(Ask("dance", {}), ::testing::HasSubstr("no such action"));
  EXPECT_THAT(Ask("list", {{"format", "csv"}}), ::testing::HasSubstr("--format"));
  EXPECT_THAT(Ask("compare/pages", {{"a", "latency_ns > 1"}}), ::testing::HasSubstr("--b"));
  EXPECT_THAT(Ask("apply", {}, "dataset: x\ncolumns: Trace | Nonsense\n"),
              ::testing::HasSubstr("line 2"));
}

TEST_F(DatasetAnswerTest, ASavedDefinitionIsListedUntilItIsDeleted) {
  EXPECT_THAT(Ask("apply", {}, "dataset: x\ncolumns: Trace | Duration | RecordAs(\"d\")\n"),
              ::testing::HasSubstr("\"saved\":true"));
  EXPECT_THAT(Ask("list", {}), ::testing::HasSubstr("\"dataset\":\"x\""));
  EXPECT_THAT(Ask("columns/x", {}),
              ::testing::HasSubstr(R"({"name":"d","type":"int","queries":0})"));
  EXPECT_THAT(Ask("delete/x", {}), ::testing::HasSubstr("\"deleted\":true"));
  EXPECT_THAT(Ask("list", {}), ::testing::Not(::testing::HasSubstr("\"dataset\":\"x\"")));
  EXPECT_THAT(Ask("delete/x", {}), ::testing::HasSubstr("no such dataset"));
}

}  // namespace
}  // namespace wf::answer
