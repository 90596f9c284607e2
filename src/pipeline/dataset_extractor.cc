#include "pipeline/dataset_extractor.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <filesystem>

#include "store/parquet/parquet_rows.h"
#include "store/row_query.h"

namespace wf::pipeline {
namespace {

// A trace's start moves when an earlier event comes late or a clock is corrected, by far less than this. Rows of a day
// on either side are looked through for those to be replaced.
constexpr Nanos kStartMoves = kDay;
constexpr size_t kParquetRows = 5'000'000;  // of an hour

Nanos ThreadCpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

}  // namespace

void ExtractCounts::Add(const ExtractCounts& other) {
  traces += other.traces;
  matched += other.matched;
  rows += other.rows;
  unusable += other.unusable;
  over_budget += other.over_budget;
  rows_dropped += other.rows_dropped;
  cpu_ns += other.cpu_ns;
}

DatasetExtractor::DatasetExtractor(DatasetDefinition definition, feature::DatasetPlan plan)
    : definition_(std::move(definition)), plan_(std::move(plan)), waiting_(plan_.NewTable()) {}

void DatasetExtractor::Add(const Trace& trace, EarlierRows earlier) {
  const Nanos before = ThreadCpu();
  const feature::ExtractOutcome outcome = plan_.Extract(trace, waiting_);
  counts_.cpu_ns += ThreadCpu() - before;
  ++counts_.traces;
  using Kind = feature::ExtractOutcome::Kind;
  counts_.matched += outcome.kind == Kind::kExtracted ? 1 : 0;
  counts_.unusable += outcome.kind == Kind::kUnusable ? 1 : 0;
  counts_.over_budget += outcome.kind == Kind::kOverBudget ? 1 : 0;
  counts_.rows += static_cast<int64_t>(outcome.rows);
  counts_.rows_dropped += static_cast<int64_t>(outcome.rows_dropped);
  if (definition_.parquet && (outcome.rows != 0 || earlier == EarlierRows::kReplace))
    changed_hours_.insert(store::BucketStart(trace.start_ns, kHour));
  if (earlier == EarlierRows::kNone) return;
  // Also a trace that gives no rows now may have given some.
  const store::TimeRange around{SaturatingSub(trace.start_ns, kStartMoves),
                                SaturatingAdd(trace.start_ns, kStartMoves)};
  if (replace_.traces.empty()) {
    replace_.time = around;
  } else {
    replace_.time.from = std::min(replace_.time.from, around.from);
    replace_.time.until = std::max(replace_.time.until, around.until);
  }
  replace_.traces.push_back(trace.id);
}

Status DatasetExtractor::Write(store::DatasetStore& store, const std::string& tenant) {
  if (waiting_.rows() == 0 && replace_.traces.empty()) return {};
  // Parquet files are made from the rows kept, so those are kept either way.
  WF_TRY(store.WriteRows(tenant, definition_.name, waiting_, replace_));
  waiting_ = plan_.NewTable();
  replace_ = {};
  return {};
}

Status DatasetExtractor::WriteParquet(store::DatasetStore& store, const std::string& tenant,
                                      const std::string& folder) {
  while (!changed_hours_.empty()) {
    WF_TRY(WriteParquetHour(store, tenant, definition_.name, *changed_hours_.begin(), folder));
    changed_hours_.erase(changed_hours_.begin());
  }
  return {};
}

Status WriteParquetHour(store::DatasetStore& store, const std::string& tenant,
                        const std::string& dataset, Nanos hour, const std::string& folder) {
  const std::string place = folder + "/" + dataset;
  std::error_code error;
  std::filesystem::create_directories(place, error);
  if (error) return EnvironmentError(place + ": " + error.message(), "is the store writable?");
  DatasetQuery query;
  query.where = {{"time_ns", CompareOp::kGe, false, {hour}},
                 {"time_ns", CompareOp::kLt, false, {SaturatingAdd(hour, kHour)}}};
  query.limit = kParquetRows;
  query.counting = DatasetQuery::Counting::kDoNotCount;
  WF_ASSIGN(const DatasetRows rows, store.QueryRows(tenant, dataset, query));
  return store::parquet::WriteParquetRows(
      rows.table, fmt::format("{}/{}.parquet", place, FormatInstant(hour).substr(0, 13)));
}

}  // namespace wf::pipeline
