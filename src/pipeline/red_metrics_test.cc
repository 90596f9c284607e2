#include "pipeline/red_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wf::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DatasetTable Calls() {
  DatasetTable table;
  for (const ColumnDefinition& column : FixedDatasetColumns())
    table.columns.emplace_back().definition = column;
  for (const ColumnDefinition& column :
       std::vector<ColumnDefinition>{{"service", ColumnType::kText},
                                     {"duration_ns", ColumnType::kInt},
                                     {"error", ColumnType::kBool}})
    table.columns.emplace_back().definition = column;
  return table;
}

void Add(DatasetTable& table, uint64_t trace, const char* service, Nanos duration, bool error) {
  table.columns[0].AppendText(ToHex(TraceId{0, trace}));
  table.columns[1].AppendInt(1'700'000'000 * kSecond);
  table.columns[2].AppendText("");
  table.columns[3].AppendInt(1);
  table.columns[4].AppendText(service);
  table.columns[5].AppendInt(duration);
  table.columns[6].AppendInt(error ? 1 : 0);
}

TEST(RedMetrics, CountsCallsErrorsAndDurations) {
  RedMetrics red;
  DatasetTable calls = Calls();
  Add(calls, 1, "till", 3 * kMilli, false);
  Add(calls, 2, "till", 40 * kMilli, true);
  Add(calls, 3, "ware\"house\\\n", 60 * kSecond, false);
  red.Count("default", calls, 0);
  const std::string text = red.Text("default", MetricsFormat::kPrometheus);
  EXPECT_THAT(text, HasSubstr("# TYPE wherefore_service_calls_total counter\n"));
  EXPECT_THAT(text, HasSubstr("wherefore_service_calls_total{service=\"till\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("wherefore_service_errors_total{service=\"till\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{service=\"till\",le=\"0.0025\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{service=\"till\",le=\"0.005\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{service=\"till\",le=\"+Inf\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("_sum{service=\"till\"} 0.043\n"));
  EXPECT_THAT(text, HasSubstr("_bucket{service=\"ware\\\"house\\\\\\n\",le=\"30\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("trace_id")));
  EXPECT_EQ(red.Text("another", MetricsFormat::kPrometheus), "");
}

TEST(RedMetrics, OpenMetricsHasExemplars) {
  RedMetrics red;
  DatasetTable calls = Calls();
  Add(calls, 0xab, "till", 3 * kMilli, false);
  red.Count("default", calls, 0);
  const std::string text = red.Text("default", MetricsFormat::kOpenMetrics);
  EXPECT_THAT(text, HasSubstr("# TYPE wherefore_service_calls counter\n"));
  EXPECT_THAT(text, HasSubstr("le=\"0.005\"} 1 # {trace_id=\"000000000000000000000000000000ab\"} "
                              "0.003 1700000000.000\n"));
}

TEST(RedMetrics, ATraceProcessedAgainIsCountedOnce) {
  RedMetrics red;
  DatasetTable calls = Calls();
  Add(calls, 1, "till", kMilli, false);
  red.Count("default", calls, 0);
  red.Count("default", calls, kSecond);
  EXPECT_THAT(red.Text("default", MetricsFormat::kPrometheus),
              HasSubstr("wherefore_service_calls_total{service=\"till\"} 1\n"));
}

TEST(RedMetrics, MadeUpServiceNamesDoNotFillMemory) {
  RedMetrics red;
  DatasetTable calls = Calls();
  for (uint64_t i = 0; i < 1005; ++i) Add(calls, i, ("s" + std::to_string(i)).c_str(), 1, false);
  red.Count("default", calls, 0);
  EXPECT_THAT(red.Text("default", MetricsFormat::kPrometheus),
              HasSubstr("wherefore_service_calls_left_out_total 5\n"));
}

}  // namespace
}  // namespace wf::pipeline
