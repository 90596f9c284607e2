#include "store/duckdb/table_feed.h"

#include <algorithm>

#include "base/utf8.h"

namespace wf::store::duckdb {

EngineType EngineTypeOf(ColumnType type) {
  switch (type) {
    case ColumnType::kBool:
      return EngineType::kUInt8;
    case ColumnType::kInt:
      return EngineType::kInt64;
    case ColumnType::kDouble:
      return EngineType::kFloat64;
    case ColumnType::kText:
    case ColumnType::kStack:
      return EngineType::kText;
  }
  return EngineType::kText;
}

size_t TableFeed::Begin(size_t capacity) {
  repaired_.clear();
  return std::min(capacity, table_.rows() - next_);
}

void TableFeed::Column(duckdb_data_chunk chunk, size_t at, const TableColumn& from, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const size_t row = next_ + i;
    switch (from.definition.type) {
      case ColumnType::kBool:
        Data<uint8_t>(chunk, at)[i] = from.numbers[row] != 0 ? 1 : 0;
        break;
      case ColumnType::kInt:
        Data<int64_t>(chunk, at)[i] = from.numbers[row];
        break;
      case ColumnType::kDouble:
        Data<double>(chunk, at)[i] = from.doubles[row];
        break;
      case ColumnType::kText:
      case ColumnType::kStack: {
        std::string_view text = from.texts[row];
        if (!IsUtf8(text))
          text = *repaired_.emplace_back(std::make_unique<std::string>(RepairUtf8(text)));
        Data<duckdb_string_t>(chunk, at)[i] = duck::BorrowText(text);
        break;
      }
    }
  }
  const auto begin = from.valid.begin() + static_cast<ptrdiff_t>(next_);
  if (std::find(begin, begin + static_cast<ptrdiff_t>(n), 0) == begin + static_cast<ptrdiff_t>(n))
    return;
  duckdb_vector vector = duck::api().data_chunk_get_vector(chunk, at);
  duck::api().vector_ensure_validity_writable(vector);
  uint64_t* valid = duck::api().vector_get_validity(vector);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bit = uint64_t{1} << (i % 64);
    if (from.valid[next_ + i] != 0) {
      valid[i / 64] |= bit;
    } else {
      valid[i / 64] &= ~bit;
    }
  }
}

}  // namespace wf::store::duckdb
