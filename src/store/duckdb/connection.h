// DuckDB as values with owners: a Database, its Connections, results read chunk by chunk, and rows written through a
// table function (INSERT … SELECT * FROM wf_rows()), which hands our vectors to the table without the copy that the
// appender makes: 0.1 µs a span and 50 MB of memory less than duckdb_append_data_chunk.
//
// Thread safety: a Connection and what it gives are used by one thread at a time; a Database by any.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/duckdb/duckdb_api.h"
#include "store/table.h"

namespace wf::store::duckdb::duck {

// A text as DuckDB holds it: up to 12 bytes inside, longer ones by pointer, which must live until it is copied.
inline duckdb_string_t BorrowText(std::string_view text) {
  duckdb_string_t out;
  std::memset(&out, 0, sizeof out);
  out.value.inlined.length = static_cast<uint32_t>(text.size());
  if (text.size() <= 12) {
    if (!text.empty()) std::memcpy(out.value.inlined.inlined, text.data(), text.size());
  } else {
    std::memcpy(out.value.pointer.prefix, text.data(), 4);
    out.value.pointer.ptr = const_cast<char*>(text.data());
  }
  return out;
}
inline std::string_view ViewText(const duckdb_string_t& text) {
  const uint32_t length = text.value.inlined.length;
  return {length <= 12 ? text.value.inlined.inlined : text.value.pointer.ptr, length};
}

// One chunk of a result: up to 2,048 rows. Columns are read by their stored type.
class Chunk {
 public:
  explicit Chunk(duckdb_data_chunk chunk) : chunk_(chunk) {}
  Chunk(Chunk&& o) noexcept : chunk_(std::exchange(o.chunk_, nullptr)) {}
  Chunk& operator=(Chunk&&) = delete;
  ~Chunk() {
    if (chunk_ != nullptr) api().destroy_data_chunk(&chunk_);
  }
  explicit operator bool() const { return chunk_ != nullptr; }
  size_t size() const { return api().data_chunk_get_size(chunk_); }
  template <typename T>
  const T* Column(size_t i) const {
    return static_cast<const T*>(api().vector_get_data(api().data_chunk_get_vector(chunk_, i)));
  }
  bool IsNull(size_t column, size_t row) const {
    const uint64_t* valid = api().vector_get_validity(api().data_chunk_get_vector(chunk_, column));
    return valid != nullptr && (valid[row / 64] >> (row % 64) & 1) == 0;
  }
  std::string_view Text(size_t column, size_t row) const {
    return ViewText(Column<duckdb_string_t>(column)[row]);
  }

 private:
  duckdb_data_chunk chunk_;
};

class QueryResult {
 public:
  QueryResult() { std::memset(&result_, 0, sizeof result_); }
  QueryResult(QueryResult&& o) noexcept
      : result_(o.result_), live_(std::exchange(o.live_, false)) {}
  QueryResult& operator=(QueryResult&&) = delete;
  ~QueryResult() {
    if (live_) api().destroy_result(&result_);
  }
  // The next chunk, empty at the end.
  Chunk Next() { return Chunk(api().fetch_chunk(result_)); }
  size_t columns() { return api().column_count(&result_); }
  int64_t rows_changed() { return static_cast<int64_t>(api().rows_changed(&result_)); }

 private:
  friend class Connection;
  duckdb_result result_;
  bool live_ = false;
};

// A parameter of a statement; texts are bound as bytes, never pasted into SQL. Utf8: bound as VARCHAR.
struct Utf8 {
  std::string_view text;
};
using Param = std::variant<int64_t, uint64_t, std::string_view, double, Utf8>;

// Rows to write: `fill` writes up to `capacity` rows into the columns' vectors and returns how many; 0 ends.
struct RowSource {
  std::vector<ColumnDef> columns;
  std::function<size_t(void* const* vectors, size_t capacity)> fill;
  // Instead of `fill`, for columns with nulls.
  std::function<size_t(duckdb_data_chunk chunk, size_t capacity)> fill_chunk;
};

class Connection {
 public:
  ~Connection();
  Status Run(const std::string& sql);
  Result<QueryResult> Query(const std::string& sql, const std::vector<Param>& params = {});
  // Inserts in the order given; columns by name.
  Status Insert(const std::string& table, RowSource& source);
  // A statement that reads the source as the table function `rows_function()`().
  Status RunWith(RowSource& source, const std::string& sql);
  const std::string& rows_function() const { return function_; }
  duckdb_connection handle() { return connection_; }

 private:
  friend class Database;
  Connection() = default;
  static void Bind(duckdb_bind_info info);
  static void Init(duckdb_init_info info);
  static void Fill(duckdb_function_info info, duckdb_data_chunk chunk);

  duckdb_connection connection_ = nullptr;
  // wf_rows_N: functions are named per database, sources belong to a connection.
  std::string function_;
  RowSource* source_ = nullptr;  // during Insert
  std::vector<void*> vectors_;
};

struct DatabaseOptions {
  std::string memory_limit = "160MB";
  int threads = 1;
  std::string temp_directory;
  // Of events: we checkpoint after every segment ourselves; one in a transaction's commit only adds a stall.
  std::string checkpoint_threshold = "4GB";
};

class Database {
 public:
  static Result<std::unique_ptr<Database>> Open(const DatabaseOptions& options);
  ~Database();
  Result<std::unique_ptr<Connection>> Connect();

 private:
  duckdb_database database_ = nullptr;
};

// Connections lent to one thread at a time and used again: each has a table function of its own in the catalogue.
// Thread safety: any thread borrows and gives back. The pool outlives its leases, the database the pool.
class ConnectionPool {
 public:
  explicit ConnectionPool(Database& database) : database_(database) {}
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::unique_ptr<Connection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    Lease(Lease&&) = default;
    ~Lease();
    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }

   private:
    ConnectionPool& pool_;
    std::unique_ptr<Connection> connection_;
  };
  Result<Lease> Borrow();

 private:
  Database& database_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> free_;
};

// "name TYPE, …" for CREATE TABLE.
std::string ColumnsSql(const std::vector<ColumnDef>& columns);
const char* TypeSql(EngineType type);

// 'text' as an SQL literal: for file names, which cannot be parameters.
std::string Quote(std::string_view text);
// "name" as an SQL identifier. Bytes 0 end a statement's text, so they become U+FFFD.
std::string QuoteName(std::string_view name);

}  // namespace wf::store::duckdb::duck
