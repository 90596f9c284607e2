#include "store/parquet/parquet_rows.h"

#include <fmt/format.h>

#include <filesystem>

#include "store/duckdb/connection.h"
#include "store/duckdb/table_feed.h"

namespace wf::store::parquet {

namespace duck = duckdb::duck;

Status WriteParquetRows(const DatasetTable& table, const std::string& path) {
  duck::DatabaseOptions options;
  options.memory_limit = "1GB";
  WF_ASSIGN(auto database, duck::Database::Open(options));
  WF_ASSIGN(auto connection, database->Connect());
  duck::RowSource source;
  std::string columns, select;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnDefinition& column = table.columns[i].definition;
    source.columns.push_back({fmt::format("c{}", i), duckdb::EngineTypeOf(column.type)});
    columns += fmt::format("{}c{} {}", i == 0 ? "" : ", ", i,
                           duck::TypeSql(duckdb::EngineTypeOf(column.type)));
    select += fmt::format("{}c{}{} AS {}", i == 0 ? "" : ", ", i,
                          column.type == ColumnType::kBool ? "::BOOLEAN" : "",
                          duck::QuoteName(column.name));
  }
  duckdb::TableFeed feed(table);
  source.fill_chunk = [&](duckdb_data_chunk chunk, size_t capacity) {
    const size_t n = feed.Begin(capacity);
    for (size_t i = 0; i < table.columns.size(); ++i) feed.Column(chunk, i, table.columns[i], n);
    feed.End(n);
    return n;
  };
  WF_TRY(connection->Run("CREATE TABLE out (" + columns + ")"));
  WF_TRY(connection->Insert("out", source));
  const std::string partial = path + ".partial";
  WF_TRY(
      connection->Run(fmt::format("COPY (SELECT {} FROM out) TO {} (FORMAT parquet, COMPRESSION "
                                  "zstd)",
                                  select, duck::Quote(partial))));
  std::error_code failed;
  std::filesystem::rename(partial, path, failed);
  if (failed) return EnvironmentError(path + ": " + failed.message(), "is the folder writable?");
  return {};
}

}  // namespace wf::store::parquet
