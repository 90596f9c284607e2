// TableFeed: a DatasetTable's columns as the engine's vectors, chunk by chunk, nulls and all. Texts that are no UTF-8 are
// repaired on the way. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/dataset_table.h"
#include "store/duckdb/connection.h"

namespace wf::store::duckdb {

EngineType EngineTypeOf(ColumnType type);

class TableFeed {
 public:
  explicit TableFeed(const DatasetTable& table) : table_(table) {}
  size_t next() const { return next_; }  // the first row of the chunk being filled

  size_t Begin(size_t capacity);  // rows of the next chunk; 0: no more
  void Column(duckdb_data_chunk chunk, size_t at, const TableColumn& from, size_t rows);
  void End(size_t rows) { next_ += rows; }

  template <typename T>
  static T* Data(duckdb_data_chunk chunk, size_t column) {
    return static_cast<T*>(
        duck::api().vector_get_data(duck::api().data_chunk_get_vector(chunk, column)));
  }

 private:
  const DatasetTable& table_;
  size_t next_ = 0;
  std::vector<std::unique_ptr<std::string>> repaired_;  // until the engine has copied the chunk
};

}  // namespace wf::store::duckdb
