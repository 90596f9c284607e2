#include "store/parquet/parquet_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "store/duckdb/connection.h"

namespace wf::store::parquet {

namespace duck = duckdb::duck;

struct ParquetFile::State {
  std::string path, temporary;
  std::vector<ParquetColumn> columns;
  std::unique_ptr<duck::Database> database;
  std::unique_ptr<duck::Connection> connection;
};

ParquetFile::ParquetFile() : state_(std::make_unique<State>()) {}

ParquetFile::~ParquetFile() {
  state_->connection.reset();
  state_->database.reset();
  std::error_code ignored;
  for (const char* ending : {"", ".wal"})
    std::filesystem::remove(state_->temporary + ending, ignored);
  std::filesystem::remove(state_->path + ".partial", ignored);
  std::filesystem::remove_all(state_->temporary + ".tmp", ignored);
}

Result<std::unique_ptr<ParquetFile>> ParquetFile::Open(const std::string& path,
                                                       std::vector<ParquetColumn> columns) {
  std::unique_ptr<ParquetFile> file(new ParquetFile);
  State& s = *file->state_;
  s.path = path;
  s.temporary = path + ".rows.duckdb";
  s.columns = std::move(columns);
  std::error_code ignored;
  std::filesystem::remove(s.temporary, ignored);
  WF_TRY(duck::Load());
  duck::DatabaseOptions options;
  options.memory_limit = "512MB";  // Parquet row groups of wide texts are built in memory
  options.temp_directory = s.temporary + ".tmp";
  WF_ASSIGN(s.database, duck::Database::Open(options));
  WF_ASSIGN(s.connection, s.database->Connect());
  std::string table;
  for (const ParquetColumn& c : s.columns) {
    table += fmt::format("{}{} {}", table.empty() ? "" : ", ", c.name,
                         c.type == ParquetColumn::Type::kText ? "BLOB" : "BIGINT");
  }
  const Status made = s.connection->Run(
      fmt::format("ATTACH {} AS out; CREATE TABLE out.rows ({})", duck::Quote(s.temporary), table));
  if (!made.ok())
    return EnvironmentError(path + ": " + made.error().message,
                            "is the folder there and writable?");
  return file;
}

Status ParquetFile::Add(const ParquetRows& rows) {
  duck::RowSource source;
  for (const ParquetColumn& c : state_->columns) {
    source.columns.push_back(
        {c.name, c.type == ParquetColumn::Type::kText ? EngineType::kString : EngineType::kInt64});
  }
  size_t row = 0;
  source.fill = [&](void* const* vectors, size_t capacity) {
    const size_t n = std::min(capacity, rows.rows - row);
    for (size_t c = 0; c < source.columns.size(); ++c) {
      for (size_t i = 0; i < n; ++i) {
        if (source.columns[c].type == EngineType::kString) {
          static_cast<duckdb_string_t*>(vectors[c])[i] = duck::BorrowText(rows.texts[c][row + i]);
        } else {
          static_cast<int64_t*>(vectors[c])[i] = rows.integers[c][row + i];
        }
      }
    }
    row += n;
    return n;
  };
  return state_->connection->Insert("out.rows", source);
}

Status ParquetFile::Finish() {
  std::string columns;
  for (const ParquetColumn& c : state_->columns) {
    columns += columns.empty() ? "" : ", ";
    columns +=
        c.type == ParquetColumn::Type::kText ? fmt::format("decode({0}) AS {0}", c.name) : c.name;
  }
  const std::string partial = state_->path + ".partial";
  WF_TRY(
      state_->connection->Run(fmt::format("COPY (SELECT {} FROM out.rows) TO {} (FORMAT parquet, "
                                          "COMPRESSION zstd, ROW_GROUP_SIZE 20480)",
                                          columns, duck::Quote(partial))));
  std::error_code failed;
  std::filesystem::rename(partial, state_->path, failed);
  if (failed)
    return EnvironmentError(state_->path + ": " + failed.message(), "is the folder writable?");
  return {};
}

}  // namespace wf::store::parquet
