// DatasetStore: rows of datasets, and questions about them.
// Every call takes the tenant; nothing of another tenant is ever seen. Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/nanos.h"
#include "base/result.h"
#include "model/dataset_query.h"
#include "model/dataset_table.h"
#include "store/time_range.h"

namespace wf::store {

// Traces that were processed again: all their earlier rows of the dataset go, in the same transaction. The rows lie in
// `time` by their time_ns (the trace's start as it was known then); the narrower, the less is looked through.
struct RowReplacement {
  std::vector<TraceId> traces;
  TimeRange time;
};

// A dataset as stored. A column whose type changed is another column from then on: queries by its name see the newest
// version, the older one keeps its values as NAME@VERSION.
struct StoredColumn {
  ColumnDefinition definition;
  int64_t queries = 0;  // that used it
};
struct DatasetStatus {
  std::string name;
  int64_t rows = 0;                    // stored
  int64_t bytes = 0;                   // on disk
  Nanos oldest_ns = 0, newest_ns = 0;  // of time_ns; 0 when there are no rows
  // Fixed ones first, then in the order of their first appearance.
  std::vector<StoredColumn> columns;
  std::optional<Nanos> sampled_before;  // rows older than this were subsampled
};

// How long rows of a dataset are kept, by time_ns.
struct RowRetention {
  std::optional<Nanos> max_age_ns;
  // Of rows older than this, one in `keep_one_in` is kept, chosen by a hash, and stands for all of them.
  std::optional<Nanos> subsample_after_ns;
  int64_t keep_one_in = 10;
};

// The answer to a text of SQL, and whose SQL it was.
struct SqlRows {
  DatasetRows rows;
  std::string dialect;  // "DuckDB 1.4.1"
};

class DatasetStore {
 public:
  virtual ~DatasetStore() = default;

  // Rows of datasets. The table begins with FixedDatasetColumns. All of it, with the replacement, or nothing; durable
  // when it returns. The dataset is made when first written. Columns it does not have yet are added, null for the rows
  // before; columns that the table lacks are null for its rows. Replacing alone (no rows) is allowed.
  virtual Status WriteRows(const std::string& tenant, const std::string& dataset,
                           const DatasetTable& rows, const RowReplacement& replace = {}) = 0;
  // kNotFound for a dataset that was never written; kBadInput for a column that is not there, or a comparison or
  // aggregate that its type does not have.
  virtual Result<DatasetRows> QueryRows(const std::string& tenant, const std::string& dataset,
                                        const DatasetQuery& query) = 0;
  // By name.
  virtual Result<std::vector<DatasetStatus>> ReadDatasets(const std::string& tenant) = 0;
  // Deletes the rows; nothing to delete is no error.
  virtual Status DropDataset(const std::string& tenant, const std::string& dataset) = 0;
  virtual Status RetainRows(const std::string& tenant, const std::string& dataset,
                            const RowRetention& retention) = 0;
  // One SELECT in the engine's own SQL over the tenant's datasets, as tables of their names. It runs where it can reach
  // nothing else, for at most 30 s and 1 GB.
  virtual Result<SqlRows> RunSql(const std::string& tenant, const std::string& sql) = 0;
};

}  // namespace wf::store
