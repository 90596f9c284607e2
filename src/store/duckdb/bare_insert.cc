#include "store/duckdb/bare_insert.h"

#include <fmt/format.h>

#include "store/duckdb/connection.h"

namespace wf::store::duckdb {

Status BareInsert(const std::string& path, const BatchList& batches) {
  using enum EngineType;
  duck::DatabaseOptions options;
  WF_ASSIGN(auto database, duck::Database::Open(options));
  WF_ASSIGN(auto connection, database->Connect());
  duck::RowSource rows;
  const char* names[] = {"trace_hi", "trace_lo", "span_id", "parent_id", "start_ns", "duration_ns",
                         "kind",     "status",   "service", "name",      "instance"};
  const EngineType types[] = {kUInt64, kUInt64, kUInt64, kUInt64, kInt64, kInt64,
                              kUInt8,  kUInt8,  kString, kString, kString};
  for (size_t i = 0; i < 11; ++i) rows.columns.push_back({names[i], types[i]});
  // Attributes get the types of the first row's.
  {
    AttributeReader reader(batches.at(0)->attrs(0));
    uint32_t key;
    Value value;
    while (reader.Next(key, value)) {
      rows.columns.push_back({fmt::format("a{}", rows.columns.size()),
                              value.type == ValueType::kInt ? kInt64 : kString});
    }
  }
  std::string sql;
  for (const ColumnDef& c : rows.columns) {
    const char* type = c.type == kInt64    ? "BIGINT"
                       : c.type == kUInt64 ? "UBIGINT"
                       : c.type == kUInt8  ? "UTINYINT"
                                           : "BLOB";
    sql += fmt::format("{}{} {}", sql.empty() ? "" : ", ", c.name, type);
  }
  WF_TRY(connection->Run(
      fmt::format("ATTACH {} AS bare; CREATE TABLE bare.spans ({})", duck::Quote(path), sql)));
  size_t batch = 0, row = 0;
  rows.fill = [&](void* const* v, size_t capacity) {
    size_t n = 0;
    for (; n < capacity && batch < batches.size(); ++n) {
      const EventBatch& b = *batches[batch];
      static_cast<uint64_t*>(v[0])[n] = b.trace_hi[row];
      static_cast<uint64_t*>(v[1])[n] = b.trace_lo[row];
      static_cast<uint64_t*>(v[2])[n] = b.id1[row];
      static_cast<uint64_t*>(v[3])[n] = b.id2[row];
      static_cast<int64_t*>(v[4])[n] = b.start_ns[row];
      static_cast<int64_t*>(v[5])[n] = b.end_ns[row] - b.start_ns[row];
      static_cast<uint8_t*>(v[6])[n] = static_cast<uint8_t>(b.kind[row]);
      static_cast<uint8_t*>(v[7])[n] = static_cast<uint8_t>(b.status[row]);
      static_cast<duckdb_string_t*>(v[8])[n] =
          duck::BorrowText(b.str(b.processes[b.process[row]].service));
      static_cast<duckdb_string_t*>(v[9])[n] = duck::BorrowText(b.str(b.name[row]));
      static_cast<duckdb_string_t*>(v[10])[n] =
          duck::BorrowText(b.str(b.processes[b.process[row]].host));
      AttributeReader reader(b.attrs(row));
      uint32_t key;
      Value value;
      for (size_t c = 11; c < rows.columns.size() && reader.Next(key, value); ++c) {
        if (rows.columns[c].type == kInt64) {
          static_cast<int64_t*>(v[c])[n] = value.integer;
        } else {
          static_cast<duckdb_string_t*>(v[c])[n] = duck::BorrowText(value.text);
        }
      }
      if (++row == b.size()) row = 0, ++batch;
    }
    return n;
  };
  WF_TRY(connection->Run("BEGIN"));
  WF_TRY(connection->Insert("bare.spans", rows));
  WF_TRY(connection->Run("COMMIT"));
  return connection->Run("CHECKPOINT bare; DETACH bare");
}

}  // namespace wf::store::duckdb
