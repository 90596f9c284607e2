// Dataset: the rows of one dataset in memory. What a question means is row_query.h's; this keeps rows, versions of
// columns and weights. Thread safety: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/dataset_store.h"

namespace wf::store::memory {

class Dataset {
 public:
  Dataset();

  // The table has passed CheckDatasetTable. Fails, and changes nothing, on a trace id that is none.
  Status Write(const std::string& name, const DatasetTable& rows, const RowReplacement& replace);
  Result<DatasetRows> Query(const DatasetQuery& query);
  DatasetStatus Read(const std::string& name) const;
  void Retain(const RowRetention& retention, Nanos now);
  // Deletes the oldest rows, so that this share of them is left; returns how many went.
  int64_t KeepNewest(double share);
  int64_t bytes() const;  // about

 private:
  // What is known of a column beside its cells.
  struct Column {
    int64_t version = 1;
    bool newest = true;  // its name without @VERSION means this one
    int64_t queries = 0;
  };

  std::vector<ColumnDefinition> VisibleColumns() const;
  void Extend(const DatasetTable& rows);
  // Keeps the rows chosen, in order.
  void KeepRows(const std::vector<size_t>& rows);
  size_t rows() const { return weights_.size(); }
  Nanos TimeOf(size_t row) const { return table_.columns[1].numbers[row]; }

  DatasetTable table_;           // fixed columns first, by the names they were given
  std::vector<Column> columns_;  // one for each of the table's
  std::vector<int64_t> weights_;
  std::optional<Nanos> sampled_before_;
};

}  // namespace wf::store::memory
