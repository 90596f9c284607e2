#include "analysis/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wf::compare {
namespace {

// Rows of page pieces: latency, bytes, piece, browser.
struct Pieces {
  DatasetTable table;
  Pieces() {
    const std::vector<ColumnDefinition> columns = {
        {"trace_id", ColumnType::kText}, {"time_ns", ColumnType::kInt},
        {"piece", ColumnType::kText},    {"browser", ColumnType::kText},
        {"latency", ColumnType::kInt},   {"bytes", ColumnType::kDouble}};
    for (const auto& column : columns) table.columns.emplace_back().definition = column;
  }
  void Row(int id, const char* piece, const char* browser, int64_t latency, double bytes) {
    table.columns[0].AppendText(std::to_string(id));
    table.columns[1].AppendInt(id);
    table.columns[2].AppendText(piece);
    table.columns[3].AppendText(browser);
    table.columns[4].AppendInt(latency);
    table.columns[5].AppendDouble(bytes);
  }
};

// `slow`: the piece whose latency grew in this population.
Pieces Population(unsigned seed, const std::string& slow, double firefox) {
  std::mt19937 random(seed);
  Pieces out;
  const char* names[] = {"Header", "Feed", "UserInput", "Ads"};
  for (int i = 0; i < 800; ++i) {
    const char* piece = names[random() % 4];
    const char* browser =
        static_cast<double>(random() % 1000) < firefox * 1000 ? "firefox" : "chromium";
    const auto latency = static_cast<int64_t>(1000 + random() % 500 + (piece == slow ? 600 : 0));
    out.Row(i, piece, browser, latency, static_cast<double>(random() % 100));
  }
  return out;
}

TEST(Compare, FindsThePieceThatGotSlower) {
  for (const std::string culprit : {"UserInput", "Feed"}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const Pieces before = Population(seed, "", 0.3), after = Population(seed + 100, culprit, 0.3);
      const Comparison found = ComparePopulations(before.table, after.table, {"latency", {}});
      EXPECT_LT(found.metric.p, 1e-6);
      EXPECT_GT(found.metric.effect, 0.1);
      ASSERT_GE(found.significant, 1u) << culprit << seed;
      EXPECT_EQ(found.differences[0].column, "piece");
      EXPECT_EQ(found.differences[0].value, culprit);
      EXPECT_EQ(found.differences[0].question, CompareQuestion::kWithin);
      EXPECT_GT(found.differences[0].effect, 0.9);
      EXPECT_NEAR(found.differences[0].b - found.differences[0].a, 600, 60);
      // Whoever holds a share of the slow piece is slower too, but not by as much.
      for (size_t i = 1; i < found.significant; ++i)
        EXPECT_LT(std::abs(found.differences[i].effect), 0.5) << found.differences[i].value;
    }
  }
}

TEST(Compare, FindsNothingWhereNothingChanged) {
  size_t false_alarms = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Pieces a = Population(seed, "", 0.3), b = Population(seed + 500, "", 0.3);
    false_alarms += ComparePopulations(a.table, b.table, {"latency", {}}).significant;
  }
  EXPECT_LE(false_alarms, 3u);  // a rate of 0.05 in 20 comparisons; seeds are fixed
}

TEST(Compare, FindsTheShareThatMoved) {
  const Pieces a = Population(1, "", 0.2), b = Population(2, "", 0.5);
  const Comparison found = ComparePopulations(a.table, b.table, {});
  ASSERT_EQ(found.significant, 1u);
  EXPECT_EQ(found.differences[0].column, "browser");
  EXPECT_EQ(found.differences[0].question, CompareQuestion::kMix);
  EXPECT_NEAR(found.differences[0].effect, 0.3, 0.1);
}

TEST(Compare, LeavesOutWhatThePopulationsWereChosenBy) {
  const Pieces a = Population(1, "", 0), b = Population(2, "", 1);
  EXPECT_EQ(ComparePopulations(a.table, b.table, {"", {"browser"}}).significant, 0u);
}

TEST(Compare, TakesNullsAndEmptyPopulations) {
  Pieces none;
  const Pieces a = Population(1, "", 0.2);
  EXPECT_EQ(ComparePopulations(a.table, none.table, {"latency", {}}).significant, 0u);
  EXPECT_EQ(ComparePopulations(none.table, none.table, {"latency", {}}).significant, 0u);
  Pieces nulls;
  for (int i = 0; i < 50; ++i)
    for (TableColumn& column : nulls.table.columns) column.AppendNull();
  EXPECT_EQ(ComparePopulations(a.table, nulls.table, {"latency", {}}).significant, 0u);
}

}  // namespace
}  // namespace wf::compare
