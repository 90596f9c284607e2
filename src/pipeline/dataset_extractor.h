// DatasetExtractor: modeled traces → rows of one dataset → store. The tailer feeds it traces as they complete, backfill
// those that are stored. Rows wait here until Write, so that many traces make one transaction.
//
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/dataset_definition.h"
#include "store/store.h"

namespace wf::pipeline {

// What became of the traces given.
struct ExtractCounts {
  int64_t traces = 0;        // given
  int64_t matched = 0;       // of which the filter took
  int64_t rows = 0;          // extracted
  int64_t unusable = 0;      // violate an invariant
  int64_t over_budget = 0;   // needed more work than a trace may
  int64_t rows_dropped = 0;  // beyond kMaxRowsPerTrace
  Nanos cpu_ns = 0;          // of extracting, on this thread
  void Add(const ExtractCounts& other);
};

// Whether the trace was processed before, so that rows of it may be there.
enum class EarlierRows { kNone, kReplace };

class DatasetExtractor {
 public:
  DatasetExtractor(DatasetDefinition definition, feature::DatasetPlan plan);

  const DatasetDefinition& definition() const { return definition_; }
  const feature::DatasetPlan& plan() const { return plan_; }
  const ExtractCounts& counts() const { return counts_; }

  void Add(const Trace& trace, EarlierRows earlier);
  size_t waiting_rows() const { return waiting_.rows(); }
  const DatasetTable& waiting() const { return waiting_; }
  // Writes what waits, durably. On failure everything waits on.
  Status Write(store::DatasetStore& store, const std::string& tenant);
  // Parquet files of the hours that changed since the last call, for definitions that want them: FOLDER/NAME/HOUR.parquet.
  Status WriteParquet(store::DatasetStore& store, const std::string& tenant,
                      const std::string& folder);

 private:
  DatasetDefinition definition_;
  feature::DatasetPlan plan_;
  DatasetTable waiting_;
  store::RowReplacement replace_;
  ExtractCounts counts_;
  std::set<Nanos> changed_hours_;
};

// The dataset's rows of one hour as FOLDER/DATASET/HOUR.parquet, whole.
Status WriteParquetHour(store::DatasetStore& store, const std::string& tenant,
                        const std::string& dataset, Nanos hour, const std::string& folder);

}  // namespace wf::pipeline
