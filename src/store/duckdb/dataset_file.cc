#include "store/duckdb/dataset_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "store/directory.h"
#include "store/duckdb/table_feed.h"
#include "store/row_query.h"

namespace wf::store::duckdb {
namespace {

constexpr char kFixedColumns[] =
    "trace_hi UBIGINT, trace_lo UBIGINT, time_ns BIGINT, row_key VARCHAR, complete UTINYINT, "
    "weight BIGINT";

// How a fixed column is read. The id is kept as two numbers: as text it would be two thirds of many a dataset.
std::string FixedColumnSql(const std::string& name) {
  return name == "trace_id" ? "format('{:016x}{:016x}', trace_hi, trace_lo)" : name;
}

// Rows of a table as the engine's chunks: ids as numbers, a weight, and the rest as it is.
class RowFeed {
 public:
  RowFeed(const DatasetTable& table, const std::vector<FileColumn>& columns)
      : table_(table), feed_(table) {
    source.columns = {{"trace_hi", EngineType::kUInt64}, {"trace_lo", EngineType::kUInt64},
                      {"time_ns", EngineType::kInt64},   {"row_key", EngineType::kText},
                      {"complete", EngineType::kUInt8},  {"weight", EngineType::kInt64}};
    for (const FileColumn& column : columns)
      source.columns.push_back({column.stored, EngineTypeOf(column.definition.type)});
    source.fill_chunk = [this](duckdb_data_chunk chunk, size_t capacity) {
      return Fill(chunk, capacity);
    };
  }
  duck::RowSource source;
  bool bad_id() const { return bad_id_; }

 private:
  size_t Fill(duckdb_data_chunk chunk, size_t capacity) {
    const size_t n = feed_.Begin(capacity);
    auto* hi = TableFeed::Data<uint64_t>(chunk, 0);
    auto* lo = TableFeed::Data<uint64_t>(chunk, 1);
    auto* weight = TableFeed::Data<int64_t>(chunk, 5);
    for (size_t i = 0; i < n; ++i) {
      const auto id = ParseTraceId(table_.columns[0].texts[feed_.next() + i]);
      bad_id_ = bad_id_ || !id.ok();
      hi[i] = id.ok() ? id->hi : 0;
      lo[i] = id.ok() ? id->lo : 0;
      weight[i] = 1;
    }
    for (size_t c = 1; c < FixedDatasetColumns().size(); ++c)
      feed_.Column(chunk, c + 1, table_.columns[c], n);
    for (size_t c = FixedDatasetColumns().size(); c < table_.columns.size(); ++c)
      feed_.Column(chunk, c + 2, table_.columns[c], n);
    feed_.End(n);
    return n;
  }

  const DatasetTable& table_;
  TableFeed feed_;
  bool bad_id_ = false;
};

}  // namespace

DatasetFile::DatasetFile(duck::ConnectionPool& connections, const std::string& folder,
                         uint64_t number)
    : connections_(connections),
      number_(number),
      path_(fmt::format("{}/{:06}.duckdb", folder, number)),
      schema_(fmt::format("dataset_{}", number)),
      fixed_queries_(FixedDatasetColumns().size()) {}

DatasetFile::~DatasetFile() {
  auto connection = connections_.Borrow();
  if (connection.ok()) (void)(**connection).Run("DETACH " + schema_);
  if (!doomed_) return;
  unlink(path_.c_str());
  unlink((path_ + ".wal").c_str());
}

Result<std::shared_ptr<DatasetFile>> DatasetFile::Create(duck::ConnectionPool& connections,
                                                         const std::string& folder, uint64_t number,
                                                         const std::string& tenant,
                                                         const std::string& dataset,
                                                         const Fill& fill) {
  std::shared_ptr<DatasetFile> file(new DatasetFile(connections, folder, number));
  file->tenant_ = tenant;
  file->dataset_ = dataset;
  // Made under another name and renamed when whole: a kill in between must not leave a file without facts, nor one
  // without the rows of the file that it is to replace.
  const std::string fresh = file->path_ + ".new";
  for (const std::string& left : {fresh, fresh + ".wal"}) unlink(left.c_str());
  WF_ASSIGN(auto connection, connections.Borrow());
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(fresh), file->schema_)));
  const auto make = [&]() -> Status {
    WF_TRY(connection->Run(fmt::format(
        "CREATE TABLE {0}.facts (tenant VARCHAR, dataset VARCHAR, sampled_before BIGINT); "
        "CREATE TABLE {0}.columns (place BIGINT, name VARCHAR, version BIGINT, type UTINYINT, "
        "queries BIGINT); CREATE TABLE {0}.rows ({1})",
        file->schema_, kFixedColumns)));
    WF_TRY(connection->Query(fmt::format("INSERT INTO {}.facts VALUES (?, ?, NULL)", file->schema_),
                             {duck::Utf8{tenant}, duck::Utf8{dataset}}));
    if (fill) WF_TRY(fill(*file, *connection));
    return connection->Run("CHECKPOINT " + file->schema_);
  };
  const Status made = make();
  WF_TRY(connection->Run("DETACH " + file->schema_));
  WF_TRY(made);
  if (rename(fresh.c_str(), file->path_.c_str()) != 0)
    return EnvironmentError(file->path_ + ": " + std::strerror(errno),
                            "is the directory writable?");
  WF_TRY(SyncDirectory(folder));
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(file->path_), file->schema_)));
  WF_TRY(file->Load());
  return file;
}

Result<std::shared_ptr<DatasetFile>> DatasetFile::Open(duck::ConnectionPool& connections,
                                                       const std::string& folder, uint64_t number) {
  std::shared_ptr<DatasetFile> file(new DatasetFile(connections, folder, number));
  WF_ASSIGN(auto connection, connections.Borrow());
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(file->path_), file->schema_)));
  WF_TRY(file->Load());
  return file;
}

Status DatasetFile::Load() {
  WF_ASSIGN(auto connection, connections_.Borrow());
  {
    WF_ASSIGN(auto facts, connection->Query("SELECT tenant, dataset, sampled_before FROM " +
                                            schema_ + ".facts"));
    while (duck::Chunk chunk = facts.Next()) {
      if (chunk.size() == 0) continue;
      tenant_ = chunk.Text(0, 0);
      dataset_ = chunk.Text(1, 0);
      if (!chunk.IsNull(2, 0)) sampled_before_ = chunk.Column<int64_t>(2)[0];
    }
  }
  WF_ASSIGN(auto columns,
            connection->Query(fmt::format("SELECT place, name, version, type, queries FROM "
                                          "{}.columns ORDER BY place, version",
                                          schema_)));
  while (duck::Chunk chunk = columns.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      const int64_t place = chunk.Column<int64_t>(0)[i];
      if (place < 0) {  // uses of the fixed columns
        fixed_queries_[static_cast<size_t>(-1 - place) % fixed_queries_.size()] =
            chunk.Column<int64_t>(4)[i];
        continue;
      }
      FileColumn column;
      column.stored = fmt::format("c{}", place);
      column.definition.name = chunk.Text(1, i);
      column.version = chunk.Column<int64_t>(2)[i];
      column.definition.type = static_cast<ColumnType>(chunk.Column<uint8_t>(3)[i]);
      column.queries = chunk.Column<int64_t>(4)[i];
      for (FileColumn& older : columns_)
        older.newest &= older.definition.name != column.definition.name;
      columns_.push_back(std::move(column));
    }
  }
  return {};
}

int64_t DatasetFile::Bytes() const {
  int64_t total = 0;
  struct stat info;
  for (const std::string& path : {path_, path_ + ".wal"})
    total += stat(path.c_str(), &info) == 0 ? info.st_blocks * 512 : 0;
  return total;
}

DatasetFile::View DatasetFile::Look() const {
  std::lock_guard lock(mutex_);
  View view;
  view.table = schema_ + ".rows";
  view.sampled_before = sampled_before_;
  for (size_t i = 0; i < fixed_queries_.size(); ++i) {
    const ColumnDefinition& fixed = FixedDatasetColumns()[i];
    view.columns.push_back({fixed, 1, true, FixedColumnSql(fixed.name), fixed_queries_[i]});
  }
  view.columns.insert(view.columns.end(), columns_.begin(), columns_.end());
  return view;
}

namespace {

std::string VisibleName(const FileColumn& column) {
  return column.newest ? column.definition.name
                       : fmt::format("{}@{}", column.definition.name, column.version);
}

}  // namespace

std::vector<ColumnDefinition> DatasetFile::View::definitions() const {
  std::vector<ColumnDefinition> out;
  for (const FileColumn& column : columns)
    out.push_back({VisibleName(column), column.definition.type});
  return out;
}

const FileColumn& DatasetFile::View::Find(const std::string& visible_name) const {
  for (const FileColumn& column : columns) {
    if (VisibleName(column) == visible_name) return column;
  }
  return columns.front();  // the caller has checked the name
}

Result<std::vector<FileColumn>> DatasetFile::Extend(duck::Connection& connection,
                                                    const DatasetTable& rows) {
  std::vector<FileColumn> columns;
  {
    std::lock_guard lock(mutex_);
    columns = columns_;
  }
  for (size_t i = FixedDatasetColumns().size(); i < rows.columns.size(); ++i) {
    const ColumnDefinition& wanted = rows.columns[i].definition;
    int64_t version = 1;
    bool there = false;
    for (const FileColumn& column : columns) {
      if (column.definition.name != wanted.name) continue;
      there = there || (column.newest && column.definition.type == wanted.type);
      version = std::max(version, column.version + 1);
    }
    if (there) continue;
    const auto place = static_cast<int64_t>(columns.size());
    for (FileColumn& older : columns) older.newest &= older.definition.name != wanted.name;
    columns.push_back({wanted, version, true, fmt::format("c{}", place), 0});
    WF_TRY(connection.Run(fmt::format("ALTER TABLE {}.rows ADD COLUMN c{} {}", schema_, place,
                                      duck::TypeSql(EngineTypeOf(wanted.type)))));
    WF_TRY(connection.Query(fmt::format("INSERT INTO {}.columns VALUES (?, ?, ?, {}, 0)", schema_,
                                        static_cast<int>(wanted.type)),
                            {place, duck::Utf8{wanted.name}, version}));
  }
  return columns;
}

Status DatasetFile::WriteLocked(duck::Connection& connection, const DatasetTable& rows,
                                const RowReplacement& replace, std::vector<FileColumn>& columns) {
  WF_ASSIGN(columns, Extend(connection, rows));
  if (!replace.traces.empty()) {
    size_t next = 0;
    duck::RowSource ids{{{"hi", EngineType::kUInt64}, {"lo", EngineType::kUInt64}},
                        [&](void* const* v, size_t capacity) {
                          const size_t n = std::min(capacity, replace.traces.size() - next);
                          for (size_t i = 0; i < n; ++i, ++next) {
                            static_cast<uint64_t*>(v[0])[i] = replace.traces[next].hi;
                            static_cast<uint64_t*>(v[1])[i] = replace.traces[next].lo;
                          }
                          return n;
                        },
                        {}};
    // The range of times is what keeps this from reading the whole table: row groups outside are skipped.
    WF_TRY(connection.RunWith(
        ids,
        fmt::format("DELETE FROM {}.rows WHERE time_ns >= ({})::BIGINT AND time_ns <= ({})::BIGINT "
                    "AND (trace_hi, trace_lo) IN (SELECT (hi, lo) FROM {}())",
                    schema_, replace.time.from,
                    replace.time.until == INT64_MAX ? INT64_MAX : replace.time.until - 1,
                    connection.rows_function())));
  }
  if (rows.rows() == 0) return {};
  std::vector<FileColumn> targets;
  for (size_t i = FixedDatasetColumns().size(); i < rows.columns.size(); ++i) {
    for (const FileColumn& column : columns) {
      if (column.newest && column.definition == rows.columns[i].definition)
        targets.push_back(column);
    }
  }
  RowFeed feed(rows, targets);
  WF_TRY(connection.Insert(schema_ + ".rows", feed.source));
  if (feed.bad_id())
    return BadInput(fmt::format("dataset {}: a row's trace_id is not 32 hex digits", dataset_),
                    "this is a bug in the program that wrote it");
  return {};
}

DatasetFile::Fill DatasetFile::WithRows(const DatasetTable& rows) {
  return [&rows](DatasetFile& made, duck::Connection& connection) -> Status {
    WF_TRY(CheckDatasetTable(made.dataset_, rows));
    std::vector<FileColumn> columns;  // read from the file when it is opened
    return made.WriteLocked(connection, rows, {}, columns);
  };
}

Result<DatasetFile::Outcome> DatasetFile::Write(const DatasetTable& rows,
                                                const RowReplacement& replace) {
  if (rows.rows() != 0 || !rows.columns.empty()) WF_TRY(CheckDatasetTable(dataset_, rows));
  std::lock_guard lock(write_mutex_);
  if (retired_) return Outcome::kMoved;
  WF_ASSIGN(auto connection, connections_.Borrow());
  WF_TRY(connection->Run("BEGIN"));
  std::vector<FileColumn> columns;
  Status status = WriteLocked(*connection, rows, replace, columns);
  if (status.ok()) status = connection->Run("COMMIT");
  if (!status.ok()) {
    (void)connection->Run("ROLLBACK");
    return status.error();
  }
  std::lock_guard columns_lock(mutex_);
  for (FileColumn& column : columns) {  // uses counted meanwhile
    for (const FileColumn& old : columns_)
      if (old.stored == column.stored) column.queries = old.queries;
  }
  columns_ = std::move(columns);
  return Outcome::kWritten;
}

Result<std::shared_ptr<DatasetFile>> DatasetFile::Rewrite(const std::string& folder,
                                                          uint64_t number,
                                                          const RowRetention& retention,
                                                          Nanos now) {
  const Nanos oldest = retention.max_age_ns ? SaturatingSub(now, *retention.max_age_ns) : INT64_MIN;
  const Nanos sample =
      retention.subsample_after_ns ? SaturatingSub(now, *retention.subsample_after_ns) : INT64_MIN;
  WF_ASSIGN(auto connection, connections_.Borrow());
  int64_t gone = 0, dense = 0, all = 0;
  {
    WF_ASSIGN(
        auto counts,
        connection->Query(fmt::format(
            "SELECT count(*) FILTER (time_ns < ({0})::BIGINT), count(*) FILTER (time_ns >= "
            "({0})::BIGINT AND time_ns < ({1})::BIGINT AND weight = 1), count(*) FROM {2}.rows",
            oldest, sample, schema_)));
    while (duck::Chunk chunk = counts.Next()) {
      if (chunk.size() == 0) continue;
      gone = chunk.Column<int64_t>(0)[0];
      dense = chunk.Column<int64_t>(1)[0];
      all = chunk.Column<int64_t>(2)[0];
    }
  }
  // A copy costs the whole file, so it waits until it pays: a quarter of the rows would go. Those that are too old are
  // deleted in place meanwhile.
  const int64_t keep = std::max<int64_t>(1, retention.keep_one_in);
  const int64_t saved = gone + dense - dense / keep;
  if (saved == 0) return std::shared_ptr<DatasetFile>();
  if (saved * 4 < all) {
    if (gone != 0)
      WF_TRY(connection->Run(
          fmt::format("DELETE FROM {}.rows WHERE time_ns < ({})::BIGINT", schema_, oldest)));
    return std::shared_ptr<DatasetFile>();
  }
  const View view = Look();
  std::optional<Nanos> sampled_before = view.sampled_before;
  if (dense != 0) sampled_before = std::max(sample, sampled_before.value_or(INT64_MIN));
  return Create(
      connections_, folder, number, tenant_, dataset_,
      [&](DatasetFile& made, duck::Connection& into) -> Status {
        const std::string& to = made.schema_;
        std::string adding, names;
        for (const FileColumn& column : columns_) {
          adding += fmt::format("ALTER TABLE {}.rows ADD COLUMN {} {};", to, column.stored,
                                duck::TypeSql(EngineTypeOf(column.definition.type)));
          names += ", " + column.stored;
        }
        if (!adding.empty()) WF_TRY(into.Run(adding));
        WF_TRY(
            into.Run(fmt::format("INSERT INTO {}.columns SELECT * FROM {}.columns", to, schema_)));
        // Which rows stay is decided by a hash of what names them: the same every time.
        WF_TRY(into.Run(fmt::format(
            "INSERT INTO {0}.rows (trace_hi, trace_lo, time_ns, row_key, complete, weight{1}) "
            "SELECT trace_hi, trace_lo, time_ns, row_key, complete, CASE WHEN weight = 1 AND "
            "time_ns < ({2})::BIGINT THEN {3} ELSE weight END{1} FROM {4}.rows WHERE time_ns >= "
            "({5})::BIGINT AND (time_ns >= ({2})::BIGINT OR weight > 1 OR hash(trace_hi, "
            "trace_lo, row_key) % {3} = 0) ORDER BY time_ns",
            to, names, sample, keep, schema_, oldest)));
        if (!sampled_before) return {};
        return into.Run(
            fmt::format("UPDATE {}.facts SET sampled_before = ({})::BIGINT", to, *sampled_before));
      });
}

void DatasetFile::CountUse(const std::vector<std::string>& visible_names) {
  std::lock_guard lock(mutex_);
  const auto& fixed = FixedDatasetColumns();
  for (const std::string& name : visible_names) {
    for (size_t i = 0; i < fixed.size(); ++i) fixed_queries_[i] += fixed[i].name == name ? 1 : 0;
    for (FileColumn& column : columns_) column.queries += VisibleName(column) == name ? 1 : 0;
    counts_changed_ = true;
  }
}

Status DatasetFile::SaveCounts() {
  std::vector<std::pair<int64_t, int64_t>> counts;  // place, queries
  {
    std::lock_guard lock(mutex_);
    if (!counts_changed_) return {};
    counts_changed_ = false;
    for (size_t i = 0; i < fixed_queries_.size(); ++i)
      counts.emplace_back(-1 - static_cast<int64_t>(i), fixed_queries_[i]);
    for (size_t i = 0; i < columns_.size(); ++i)
      counts.emplace_back(static_cast<int64_t>(i), columns_[i].queries);
  }
  std::lock_guard lock(write_mutex_);
  if (retired_) return {};
  WF_ASSIGN(auto connection, connections_.Borrow());
  std::string sql = fmt::format("BEGIN; DELETE FROM {}.columns WHERE place < 0;", schema_);
  for (const auto& [place, queries] : counts) {
    sql += place < 0 ? fmt::format("INSERT INTO {}.columns VALUES ({}, '', 1, 0, {});", schema_,
                                   place, queries)
                     : fmt::format("UPDATE {}.columns SET queries = {} WHERE place = {};", schema_,
                                   queries, place);
  }
  const Status saved = connection->Run(sql + "COMMIT");
  if (!saved.ok()) (void)connection->Run("ROLLBACK");
  return saved;
}

}  // namespace wf::store::duckdb
