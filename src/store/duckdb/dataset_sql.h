// A DatasetQuery as DuckDB's SQL. Columns appear under their stored names, values as parameters: nothing that a person
// wrote stands in the text.
#pragma once

#include <string>
#include <vector>

#include "model/dataset_query.h"
#include "store/duckdb/connection.h"
#include "store/duckdb/dataset_file.h"

namespace wf::store::duckdb {

struct RowSql {
  std::string text;
  std::vector<duck::Param> params;
  // What each output holds, in order. Booleans and integers come as BIGINT, doubles as DOUBLE, texts as VARCHAR.
  std::vector<ColumnDefinition> columns;
  std::vector<std::unique_ptr<std::string>> texts;  // that params borrow
};

// The whole question, one row more than its limit. For datasets, or parts of them, where no row was subsampled.
RowSql QuerySql(const DatasetFile::View& view, const DatasetQuery& query);
// The rows that match, with the columns the query uses, and last their weight: RowAggregator does the rest.
RowSql WeightedRowsSql(const DatasetFile::View& view, const DatasetQuery& query);

// Reads a result into a table; `columns` as in RowSql.
void AppendChunk(const duck::Chunk& chunk, DatasetTable& table);
DatasetTable EmptyTable(const std::vector<ColumnDefinition>& columns);

}  // namespace wf::store::duckdb
