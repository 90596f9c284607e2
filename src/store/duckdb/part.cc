#include "store/duckdb/part.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "store/directory.h"

namespace wf::store::duckdb {
Part::Part(duck::Database& database, const std::string& folder, uint64_t number)
    : database_(database),
      number_(number),
      path_(fmt::format("{}/{:06}.duckdb", folder, number)),
      index_path_(fmt::format("{}/{:06}.index", folder, number)),
      schema_(fmt::format("part_{}", number)) {}

Part::~Part() {
  auto connection = database_.Connect();
  if (connection.ok()) (void)(*connection)->Run("DETACH " + schema_);
  if (doomed_) {
    unlink(path_.c_str());
    unlink((path_ + ".wal").c_str());
    unlink(index_path_.c_str());
  }
}

Result<std::shared_ptr<Part>> Part::Create(duck::Database& database, const std::string& folder,
                                           uint64_t number) {
  std::shared_ptr<Part> part(new Part(database, folder, number));
  // Made under another name and renamed when whole: a kill in between must not leave a file that cannot be opened.
  const std::string fresh = part->path_ + ".new";
  for (const std::string& left : {fresh, fresh + ".wal", part->index_path_}) unlink(left.c_str());
  WF_ASSIGN(part->index_, IndexFile::Open(part->index_path_));
  WF_ASSIGN(auto connection, database.Connect());
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(fresh), part->schema_)));
  const Status made = connection->Run(
      fmt::format("BEGIN; CREATE TABLE {0}.shapes ({1}); CREATE TABLE {0}.segments ({2}); "
                  "CREATE TABLE {0}.progress (log UBIGINT); COMMIT; CHECKPOINT {0}",
                  part->schema_, duck::ColumnsSql(ShapeTable()), duck::ColumnsSql(SegmentTable())));
  WF_TRY(connection->Run("DETACH " + part->schema_));
  WF_TRY(made);
  if (rename(fresh.c_str(), part->path_.c_str()) != 0) {
    return EnvironmentError(part->path_ + ": " + std::strerror(errno),
                            "is the directory writable?");
  }
  WF_TRY(SyncDirectory(folder));
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(part->path_), part->schema_)));
  return part;
}

Result<std::shared_ptr<Part>> Part::Open(duck::Database& database, const std::string& folder,
                                         uint64_t number, SegmentList& segments,
                                         uint64_t& applied_log) {
  std::shared_ptr<Part> part(new Part(database, folder, number));
  WF_ASSIGN(part->index_, IndexFile::Open(part->index_path_));
  WF_ASSIGN(auto connection, database.Connect());
  const std::string& s = part->schema_;
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(part->path_), s)));
  bool any = false;
  {
    WF_ASSIGN(auto names, connection->Query(fmt::format(
                              "SELECT 1 FROM duckdb_tables() WHERE database_name = '{}' AND "
                              "table_name = 'progress'",
                              s)));
    while (duck::Chunk chunk = names.Next()) any = any || chunk.size() != 0;
  }
  if (!any) {
    part->Doom();
    return std::shared_ptr<Part>();
  }
  {
    WF_ASSIGN(auto logs, connection->Query(fmt::format(
                             "SELECT coalesce(max(log), 0)::UBIGINT FROM {}.progress", s)));
    while (duck::Chunk chunk = logs.Next()) {
      if (chunk.size() != 0) applied_log = std::max(applied_log, chunk.Column<uint64_t>(0)[0]);
    }
  }
  WF_ASSIGN(auto rows,
            connection->Query(fmt::format(
                "SELECT segment, tenant, row_count, spans, traces, columns, min_start, max_start, "
                "max_trace_start, max_end, min_received, max_received, index_at, continued "
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
      segment->columns = chunk.Column<uint64_t>(5)[i];
      segment->min_start = chunk.Column<int64_t>(6)[i];
      segment->max_start = chunk.Column<int64_t>(7)[i];
      segment->max_trace_start = chunk.Column<int64_t>(8)[i];
      segment->max_end = chunk.Column<int64_t>(9)[i];
      segment->min_received = chunk.Column<int64_t>(10)[i];
      segment->max_received = chunk.Column<int64_t>(11)[i];
      segment->index_at = chunk.Column<uint64_t>(12)[i];
      WF_ASSIGN(const IndexFile::Place place, part->index().Find(segment->index_at));
      WF_ASSIGN(const std::string filter,
                part->index().Read(place.trace_filter, place.dictionary - place.trace_filter));
      part->index_kept_ = std::max(part->index_kept_, place.end);
      segment->filter = TraceFilter(filter);
      const std::string_view continued = chunk.Text(13, i);
      segment->continued.resize(continued.size() / sizeof(ContinuedTrace));
      if (!continued.empty()) {
        std::memcpy(segment->continued.data(), continued.data(),
                    segment->continued.size() * sizeof(ContinuedTrace));
      }
      segment->part = part;
      segments.push_back(std::move(segment));
    }
  }
  // A process that ended between a record and its commit left bytes that nobody names. The part is right without this.
  (void)part->DropIndexTail();
  return part;
}

std::string Segment::table() const { return fmt::format("{}.events_{}", part->schema(), id); }

std::string Segment::select_list(uint64_t wanted) const {
  std::string out;
  for (size_t c = 0; c < kEventColumns; ++c) {
    if (((columns & wanted) >> c & 1) != 0) out += (out.empty() ? "" : ",") + EventTable()[c].name;
  }
  return out;
}

void Part::KeepIndex() {
  const auto size = index_->Size();
  index_kept_ = size.ok() ? *size : UINT64_MAX;  // in doubt, nothing is ever cut off
}

Status Part::DropIndexTail() {
  WF_ASSIGN(const uint64_t size, index_->Size());
  if (size <= index_kept_) return {};
  WF_ASSIGN(auto connection, database_.Connect());
  WF_TRY(connection->Run("CHECKPOINT " + schema_));
  return index_->Truncate(index_kept_);
}

int64_t Part::Bytes() const {
  int64_t total = 0;
  struct stat info;
  for (const std::string& path : {path_, index_path_})
    total += stat(path.c_str(), &info) == 0 ? info.st_blocks * 512 : 0;
  return total;
}

}  // namespace wf::store::duckdb
