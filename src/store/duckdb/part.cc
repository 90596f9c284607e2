#include "store/duckdb/part.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace wf {
namespace {

// Compression is fixed where we know the data; elsewhere DuckDB tries all methods it has, which costs about as much
// as compressing. Sorted trace ids are runs; span ids are random.
std::string ColumnSql(size_t column) {
  const ColumnDef& def = EventTable()[column];
  const char* type = def.type == ColumnType::kInt64     ? "BIGINT"
                     : def.type == ColumnType::kUInt64  ? "UBIGINT"
                     : def.type == ColumnType::kUInt32  ? "UINTEGER"
                     : def.type == ColumnType::kUInt8   ? "UTINYINT"
                     : def.type == ColumnType::kFloat32 ? "FLOAT"
                                                        : "BLOB";
  std::string sql = def.name + " " + type;
  switch (column) {
    case kColTraceHi:
    case kColTraceLo:
    case kColId2:
    case kColBlock:
      sql += " USING COMPRESSION rle";
      break;
    case kColId1:
      sql += " USING COMPRESSION uncompressed";
      break;
    case kColParent:
    case kColStart:
    case kColDuration:
    case kColShape:
    case kColReceived:
    case kColThread:
      sql += " USING COMPRESSION bitpacking";
      break;
    default:
      break;
  }
  if (column == kColSequence) {
    sql += " DEFAULT (-9223372036854775807 - 1)";
  } else if (column == kColProbability) {
    sql += " DEFAULT 1";
  } else if (def.type == ColumnType::kString) {
    sql += " DEFAULT ''::BLOB";
  } else {
    sql += " DEFAULT 0";
  }
  return sql;
}

std::string TableSql(const std::vector<ColumnDef>& columns) {
  std::string sql;
  for (const ColumnDef& def : columns) {
    const char* type = def.type == ColumnType::kInt64    ? "BIGINT"
                       : def.type == ColumnType::kUInt64 ? "UBIGINT"
                       : def.type == ColumnType::kUInt32 ? "UINTEGER"
                       : def.type == ColumnType::kUInt8  ? "UTINYINT"
                                                         : "BLOB";
    sql += fmt::format("{}{} {}", sql.empty() ? "" : ", ", def.name, type);
    // Filter bits look random: no method helps, and trying them costs.
    if (def.name == "bits" || def.name == "trace_filter") sql += " USING COMPRESSION uncompressed";
  }
  return sql;
}

}  // namespace

Part::Part(duck::Database& database, const std::string& folder, uint64_t number)
    : database_(database), number_(number), path_(fmt::format("{}/{:06}.duckdb", folder, number)),
      schema_(fmt::format("part_{}", number)) {}

Part::~Part() {
  auto connection = database_.Connect();
  if (connection.ok()) (void)(*connection)->Run("DETACH " + schema_);
  if (doomed_) {
    unlink(path_.c_str());
    unlink((path_ + ".wal").c_str());
  }
}

void Part::SetColumns(const std::vector<bool>& columns) {
  columns_ = columns;
  for (uint8_t c = 0; c < kEventColumns; ++c) {
    if (!columns[c]) continue;
    selected_.push_back(c);
    select_list_ += (select_list_.empty() ? "" : ",") + EventTable()[c].name;
  }
}

Result<std::shared_ptr<Part>> Part::Create(duck::Database& database, const std::string& folder, uint64_t number,
                                           const std::vector<bool>& columns) {
  std::shared_ptr<Part> part(new Part(database, folder, number));
  part->SetColumns(columns);
  WF_ASSIGN(auto connection, database.Connect());
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(part->path_), part->schema_)));
  std::string events;
  for (uint8_t c : part->selected_) events += (events.empty() ? "" : ", ") + ColumnSql(c);
  const std::string& s = part->schema_;
  WF_TRY(connection->Run(fmt::format("BEGIN; CREATE TABLE {0}.events ({1}); CREATE TABLE {0}.shapes ({2}); "
                                     "CREATE TABLE {0}.traces ({3}); CREATE TABLE {0}.filters ({4}); "
                                     "CREATE TABLE {0}.segments ({5}); CREATE TABLE {0}.progress (log UBIGINT); "
                                     // For people with a SQL prompt: every event with the columns of its shape.
                                     "CREATE VIEW {0}.spans AS SELECT * FROM {0}.events JOIN {0}.shapes USING (shape); "
                                     "COMMIT",
                                     s, events, TableSql(ShapeTable()), TableSql(TraceTable()), TableSql(FilterTable()),
                                     TableSql(SegmentTable()))));
  return part;
}

Result<std::shared_ptr<Part>> Part::Open(duck::Database& database, const std::string& folder, uint64_t number,
                                         SegmentList& segments, uint64_t& applied_log) {
  std::shared_ptr<Part> part(new Part(database, folder, number));
  WF_ASSIGN(auto connection, database.Connect());
  const std::string& s = part->schema_;
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(part->path_), s)));
  std::vector<bool> columns(kEventColumns, false);
  bool any = false;
  {
    WF_ASSIGN(auto names, connection->Query(fmt::format("SELECT column_name::BLOB FROM duckdb_columns() WHERE "
                                                        "database_name = '{}' AND table_name = 'events'",
                                                        s)));
    while (duck::Chunk chunk = names.Next()) {
      for (size_t i = 0; i < chunk.size(); ++i) {
        for (size_t c = 0; c < kEventColumns; ++c) {
          if (EventTable()[c].name == chunk.Text(0, i)) columns[c] = any = true;
        }
      }
    }
  }
  if (!any) {
    part->Doom();
    return std::shared_ptr<Part>();
  }
  part->SetColumns(columns);
  {
    WF_ASSIGN(auto logs, connection->Query(fmt::format("SELECT coalesce(max(log), 0)::UBIGINT FROM {}.progress", s)));
    while (duck::Chunk chunk = logs.Next()) {
      if (chunk.size() != 0) applied_log = std::max(applied_log, chunk.Column<uint64_t>(0)[0]);
    }
  }
  WF_ASSIGN(auto rows, connection->Query(fmt::format(
                           "SELECT segment, tenant, row_count, spans, traces, first_block, last_block, first_shape, "
                           "min_start, max_start, max_trace_start, max_end, min_received, max_received, trace_filter, continued "
                           "FROM {}.segments ORDER BY segment",
                           s)));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      auto segment = std::make_shared<Segment>();
      segment->id = chunk.Column<uint32_t>(0)[i];
      segment->tenant = chunk.Text(1, i);
      segment->rows = chunk.Column<uint64_t>(2)[i];
      segment->spans = chunk.Column<uint64_t>(3)[i];
      segment->traces = chunk.Column<uint64_t>(4)[i];
      segment->first_block = chunk.Column<uint32_t>(5)[i];
      segment->last_block = chunk.Column<uint32_t>(6)[i];
      segment->first_shape = chunk.Column<uint32_t>(7)[i];
      segment->min_start = chunk.Column<int64_t>(8)[i];
      segment->max_start = chunk.Column<int64_t>(9)[i];
      segment->max_trace_start = chunk.Column<int64_t>(10)[i];
      segment->max_end = chunk.Column<int64_t>(11)[i];
      segment->min_received = chunk.Column<int64_t>(12)[i];
      segment->max_received = chunk.Column<int64_t>(13)[i];
      segment->filter = TraceFilter(chunk.Text(14, i));
      const std::string_view continued = chunk.Text(15, i);
      segment->continued.resize(continued.size() / sizeof(ContinuedTrace));
      if (!continued.empty()) {
        std::memcpy(segment->continued.data(), continued.data(), segment->continued.size() * sizeof(ContinuedTrace));
      }
      segment->part = part;
      segments.push_back(std::move(segment));
    }
  }
  return part;
}

int64_t Part::Bytes() const {
  struct stat info;
  return stat(path_.c_str(), &info) == 0 ? info.st_blocks * 512 : 0;
}

}  // namespace wf
