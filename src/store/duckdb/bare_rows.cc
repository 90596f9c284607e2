#include "store/duckdb/bare_rows.h"

#include <fmt/format.h>

#include <thread>

#include "store/duckdb/connection.h"
#include "store/duckdb/table_feed.h"

namespace wf::store::duckdb {

struct BareRows::State {
  std::unique_ptr<duck::Database> database;
  std::unique_ptr<duck::Connection> connection;
  bool made = false;
};

BareRows::BareRows() : state_(std::make_unique<State>()) {}
BareRows::~BareRows() = default;

Result<std::unique_ptr<BareRows>> BareRows::Open(const std::string& path) {
  std::unique_ptr<BareRows> out(new BareRows);
  duck::DatabaseOptions options;
  options.memory_limit = "80%";  // the engine's own default, as are the threads
  options.threads = static_cast<int>(std::thread::hardware_concurrency());
  options.temp_directory = path + ".tmp";
  WF_ASSIGN(out->state_->database, duck::Database::Open(options));
  WF_ASSIGN(out->state_->connection, out->state_->database->Connect());
  WF_TRY(
      out->state_->connection->Run(fmt::format("ATTACH {} AS bare; USE bare", duck::Quote(path))));
  return out;
}

Status BareRows::Add(const DatasetTable& rows) {
  duck::RowSource source;
  for (const TableColumn& column : rows.columns)
    source.columns.push_back({column.definition.name, EngineTypeOf(column.definition.type)});
  if (!state_->made) {
    WF_TRY(state_->connection->Run("CREATE TABLE t (" + duck::ColumnsSql(source.columns) + ")"));
    state_->made = true;
  }
  TableFeed feed(rows);
  source.fill_chunk = [&](duckdb_data_chunk chunk, size_t capacity) {
    const size_t n = feed.Begin(capacity);
    for (size_t c = 0; c < rows.columns.size(); ++c) feed.Column(chunk, c, rows.columns[c], n);
    feed.End(n);
    return n;
  };
  return state_->connection->Insert("t", source);
}

Status BareRows::Settle() { return state_->connection->Run("CHECKPOINT bare"); }

Result<Nanos> BareRows::Time(const std::string& sql) {
  const Nanos before = MonotonicNow();
  WF_ASSIGN(auto rows, state_->connection->Query(sql));
  while (duck::Chunk chunk = rows.Next()) {
  }
  return MonotonicNow() - before;
}

}  // namespace wf::store::duckdb
