// A DatasetQuery as ClickHouse's SQL, for 18.16 and today's. One SELECT over the Distributed table: each shard filters,
// joins its own replacements, groups and cuts at the limit, and sends aggregates (or the first rows), not rows. Names
// that people chose never stand in it; values do, quoted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/dataset_query.h"
#include "store/clickhouse/dataset_log.h"

namespace wf::store::clickhouse {

struct RowSql {
  std::string text;
  // What each output holds, in order. All are Nullable: booleans and integers Int64, doubles Float64, texts String.
  std::vector<ColumnDefinition> columns;
};

// The rows that count by this state: what stands after FROM, and what after WHERE.
struct CountingRows {
  std::string from, where;
};
CountingRows RowsThatCount(const DatasetState& state, const TableNames& names);
// On one shard only, for maintenance.
CountingRows LocalRowsThatCount(const DatasetState& state, const TableNames& names);
// Whether a row's or a replacement's write is committed.
std::string CommittedSql(const DatasetState& state);

// The whole question, one row more than its limit. For datasets, or parts of them, where no row was subsampled.
RowSql QuerySql(const DatasetState& state, const TableNames& names, const DatasetQuery& query);
// A grouped question where rows were subsampled: the sums of each group, of which ReadEstimates makes the answer.
RowSql EstimateSql(const DatasetState& state, const TableNames& names, const DatasetQuery& query);
Result<DatasetRows> ReadEstimates(const DatasetState& state, const DatasetQuery& query,
                                  const RowSql& sql, std::string_view answer);
// Every column under its visible name: what SQL that people type sees as the dataset.
std::string NamedRowsSql(const DatasetState& state, const TableNames& names);

// Reads an answer in RowBinary; `columns` as in RowSql.
Result<DatasetTable> ReadTable(std::string_view answer,
                               const std::vector<ColumnDefinition>& columns);

}  // namespace wf::store::clickhouse
