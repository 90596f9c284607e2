#include "store/duckdb/dataset_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <set>
#include <thread>

#include "log/log.h"
#include "store/directory.h"
#include "store/duckdb/dataset_sql.h"
#include "store/row_query.h"

namespace wf::store::duckdb {
namespace {

// For sorting and hashing; percentiles hold their values beside it. Queries over 50 million rows stay below.
constexpr char kMemoryLimit[] = "512MB";
// A log of this size is replayed in about a tenth of a second when the store is opened.
constexpr char kCheckpointThreshold[] = "16MB";

// A file is some hundred kilobytes whatever it holds: trimming a smaller one than this frees nothing.
constexpr int64_t kTrimmedBytes = 4 << 20;
// Trimmed to so much of what is allowed, so that it need not be done again at once.
constexpr double kTrimmedShare = 0.7;

struct RowsAndTime {
  int64_t rows = 0;
  Nanos time = 0;  // such a share of the rows is at most this old
};
Result<RowsAndTime> RowsAndQuantile(duck::ConnectionPool& connections, const std::string& table,
                                    double share) {
  WF_ASSIGN(auto connection, connections.Borrow());
  WF_ASSIGN(auto rows, connection->Query(fmt::format(
                           "SELECT count(*), quantile_disc(time_ns, {}) FROM {}", share, table)));
  RowsAndTime out;
  while (duck::Chunk chunk = rows.Next()) {
    if (chunk.size() == 0 || chunk.IsNull(1, 0)) continue;
    out = {chunk.Column<int64_t>(0)[0], chunk.Column<int64_t>(1)[0]};
  }
  return out;
}

bool NamesRegex(const DatasetQuery& query) {
  return std::any_of(query.where.begin(), query.where.end(),
                     [](const ColumnCondition& c) { return c.op == CompareOp::kMatches; });
}

// The engine's words without our statement before them.
std::string Reason(const std::string& message) {
  const size_t at = message.rfind("Error: ");
  return at == std::string::npos ? message : message.substr(at + 7);
}

std::string LowerCase(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

Error NoDataset(const std::string& dataset) {
  return NotFound(fmt::format("dataset {}: no rows", dataset),
                  "wherefore dataset list shows them; dataset backfill fills one");
}

}  // namespace

DatasetFiles::~DatasetFiles() {
  if (const Status saved = SaveCounts(); !saved.ok())
    log::Warn("counts of dataset queries: {}", saved.error().message);
  files_.clear();
}

Status DatasetFiles::Open(Make make) {
  if (database_ != nullptr) return {};
  std::error_code error;
  if (make == Make::kIfThere && !std::filesystem::is_directory(folder_, error)) return {};
  std::filesystem::create_directories(folder_, error);
  if (error)
    return EnvironmentError(fmt::format("{}: {}", folder_, error.message()),
                            "check that the store's directory is writable");
  duck::DatabaseOptions options;
  options.memory_limit = kMemoryLimit;
  options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  options.temp_directory = temp_directory_;
  options.checkpoint_threshold = kCheckpointThreshold;
  WF_ASSIGN(auto database, duck::Database::Open(options));
  auto connections = std::make_unique<duck::ConnectionPool>(*database);
  std::map<Key, std::shared_ptr<DatasetFile>> files;
  for (const uint64_t number : NumberedFiles(folder_, ".duckdb")) {
    WF_ASSIGN(auto file, DatasetFile::Open(*connections, folder_, number));
    next_number_ = number + 1;
    // A kill between a rewrite and the deletion of what it replaced leaves both: the later one is whole.
    auto& entry = files[{file->tenant(), file->dataset()}];
    if (entry != nullptr) {
      std::lock_guard lock(entry->write_mutex());
      entry->Retire();
    }
    entry = std::move(file);
  }
  files_ = std::move(files);
  database_ = std::move(database);
  connections_ = std::move(connections);
  return {};
}

Result<std::shared_ptr<DatasetFile>> DatasetFiles::Find(const std::string& tenant,
                                                        const std::string& dataset) {
  std::lock_guard lock(mutex_);
  WF_TRY(Open(Make::kIfThere));
  if (const auto found = files_.find({tenant, dataset}); found != files_.end())
    return found->second;
  return NoDataset(dataset);
}

Result<DatasetFiles::Made> DatasetFiles::MakeWith(const std::string& tenant,
                                                  const std::string& dataset,
                                                  const DatasetTable& rows) {
  std::lock_guard one_at_a_time(making_);
  uint64_t number;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kMake));
    if (files_.count({tenant, dataset}) != 0) return Made::kWasThere;
    number = next_number_++;
  }
  WF_ASSIGN(auto file, DatasetFile::Create(*connections_, folder_, number, tenant, dataset,
                                           DatasetFile::WithRows(rows)));
  std::lock_guard lock(mutex_);
  files_[{tenant, dataset}] = std::move(file);
  return Made::kNew;
}

std::vector<std::shared_ptr<DatasetFile>> DatasetFiles::All(const std::string& tenant) {
  std::vector<std::shared_ptr<DatasetFile>> out;
  for (const auto& [key, file] : files_) {
    if (key.first == tenant) out.push_back(file);
  }
  return out;
}

Status DatasetFiles::Write(const std::string& tenant, const std::string& dataset,
                           const DatasetTable& rows, const RowReplacement& replace) {
  const bool only_replaces = rows.columns.empty();
  for (;;) {
    auto file = Find(tenant, dataset);
    if (!file.ok()) {
      if (file.error().code != ErrorCode::kNotFound) return file.error();
      if (only_replaces) return {};
      // Found by nobody before it has its columns and rows: a question meets no dataset, or this one.
      WF_ASSIGN(const Made made, MakeWith(tenant, dataset, rows));
      if (made == Made::kNew) return {};
      continue;
    }
    WF_ASSIGN(const auto outcome, (*file)->Write(rows, replace));
    if (outcome == DatasetFile::Outcome::kWritten) return {};
  }
}

Result<DatasetRows> DatasetFiles::Query(const std::string& tenant, const std::string& dataset,
                                        const DatasetQuery& query) {
  WF_ASSIGN(const auto file, Find(tenant, dataset));
  const DatasetFile::View view = file->Look();
  WF_TRY(CheckQuery(view.definitions(), query));
  if (query.counting == DatasetQuery::Counting::kCount) file->CountUse(ColumnsUsed(query));
  const bool weighted = query.grouped() && AsksForSampledRows(view.sampled_before, query);
  const RowSql sql = weighted ? WeightedRowsSql(view, query) : QuerySql(view, query);
  WF_ASSIGN(auto connection, connections_->Borrow());
  auto result = connection->Query(sql.text, sql.params);
  if (!result.ok()) {
    if (NamesRegex(query))
      return BadInput("~: " + Reason(result.error().message),
                      "it takes a regular expression of RE2's syntax");
    return EnvironmentError(fmt::format("dataset {}: {}", dataset, result.error().message),
                            "narrow it with --where, or group by fewer columns");
  }
  RowAggregator aggregator(view.definitions(), query, Bounds::kShow);
  DatasetRows rows;
  rows.table = EmptyTable(sql.columns);
  while (duck::Chunk chunk = result->Next()) {
    AppendChunk(chunk, rows.table);
    if (!weighted) continue;
    aggregator.Add(rows.table, rows.table.columns.back().numbers);
    rows.table = EmptyTable(sql.columns);
  }
  if (weighted) return aggregator.Finish();
  rows.more = rows.table.rows() > query.limit;
  for (TableColumn& column : rows.table.columns) {
    if (rows.more) {
      column.valid.resize(query.limit);
      if (!column.numbers.empty()) column.numbers.resize(query.limit);
      if (!column.doubles.empty()) column.doubles.resize(query.limit);
      if (!column.texts.empty()) column.texts.resize(query.limit);
    }
    if (query.grouped())
      for (double& value : column.doubles) value = SteadyDouble(value);
  }
  return rows;
}

Result<std::vector<DatasetStatus>> DatasetFiles::Read(const std::string& tenant) {
  std::vector<std::shared_ptr<DatasetFile>> files;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kIfThere));
    files = All(tenant);
  }
  std::vector<DatasetStatus> out;
  for (const auto& file : files) {
    const DatasetFile::View view = file->Look();
    DatasetStatus& status = out.emplace_back();
    status.name = file->dataset();
    status.bytes = file->Bytes();
    status.sampled_before = view.sampled_before;
    const auto definitions = view.definitions();
    for (size_t i = 0; i < definitions.size(); ++i)
      status.columns.push_back({definitions[i], view.columns[i].queries});
    WF_ASSIGN(auto connection, connections_->Borrow());
    WF_ASSIGN(auto counts,
              connection->Query("SELECT count(*), coalesce(min(time_ns), 0), coalesce(max(time_ns),"
                                " 0) FROM " +
                                view.table));
    while (duck::Chunk chunk = counts.Next()) {
      if (chunk.size() == 0) continue;
      status.rows = chunk.Column<int64_t>(0)[0];
      status.oldest_ns = chunk.Column<int64_t>(1)[0];
      status.newest_ns = chunk.Column<int64_t>(2)[0];
    }
  }
  return out;
}

Result<std::map<std::string, int64_t>> DatasetFiles::BytesByTenant() {
  std::vector<std::shared_ptr<DatasetFile>> files;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kIfThere));
    for (const auto& [key, file] : files_) files.push_back(file);
  }
  std::map<std::string, int64_t> out;
  for (const auto& file : files) out[file->tenant()] += file->Bytes();
  return out;
}

Status DatasetFiles::Drop(const std::string& tenant, const std::string& dataset) {
  std::shared_ptr<DatasetFile> file;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kIfThere));
    const auto found = files_.find({tenant, dataset});
    if (found == files_.end()) return {};
    file = found->second;
    files_.erase(found);
  }
  std::lock_guard lock(file->write_mutex());
  file->Retire();  // deleted when the last reader is done
  return {};
}

Status DatasetFiles::Retain(const std::string& tenant, const std::string& dataset,
                            const RowRetention& retention) {
  auto found = Find(tenant, dataset);
  if (!found.ok()) return found.error().code == ErrorCode::kNotFound ? Status() : found.error();
  const std::shared_ptr<DatasetFile> file = *found;
  WF_TRY(file->SaveCounts());
  std::lock_guard write_lock(file->write_mutex());
  uint64_t number;
  {
    std::lock_guard lock(mutex_);
    const auto entry = files_.find({tenant, dataset});
    if (entry == files_.end() || entry->second != file) return {};  // dropped meanwhile
    number = next_number_++;
  }
  WF_ASSIGN(auto copy, file->Rewrite(folder_, number, retention, Now()));
  if (copy == nullptr) return {};
  std::lock_guard lock(mutex_);
  const auto entry = files_.find({tenant, dataset});
  if (entry == files_.end() || entry->second != file) {
    std::lock_guard copy_lock(copy->write_mutex());
    copy->Retire();
    return {};
  }
  entry->second = copy;
  file->Retire();
  return {};
}

namespace {

// The words of a statement that may be names, lower case; also `*`, unless it is that of count(*).
std::set<std::string> WordsOf(const std::string& sql) {
  std::set<std::string> words;
  std::string before;  // the word before the last bracket
  for (size_t i = 0; i < sql.size();) {
    const auto c = static_cast<unsigned char>(sql[i]);
    std::string word;
    if (c == '"') {
      for (++i; i < sql.size(); ++i) {
        if (sql[i] == '"' && (i + 1 == sql.size() || sql[i + 1] != '"')) break;
        if (sql[i] == '"') ++i;
        word += sql[i];
      }
      ++i;
    } else if (c == '*') {
      if (before != "count") words.insert("*");
      ++i;
      continue;
    } else if (std::isalnum(c) != 0 || c == '_' || c >= 0x80) {
      for (; i < sql.size(); ++i) {
        const auto d = static_cast<unsigned char>(sql[i]);
        if (std::isalnum(d) == 0 && d != '_' && d < 0x80) break;
        word += sql[i];
      }
    } else {
      if (c != '(' && std::isspace(c) == 0) before.clear();
      ++i;
      continue;
    }
    word = LowerCase(word);
    before = word;
    words.insert(std::move(word));
  }
  return words;
}

}  // namespace

Status DatasetFiles::CopyNamed(const std::string& tenant, const std::string& sql,
                               const std::string& path) {
  const std::set<std::string> words = WordsOf(sql);
  std::vector<std::shared_ptr<DatasetFile>> files;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kMake));  // also a store without datasets has an engine for `SELECT 1`
    for (const auto& file : All(tenant)) {
      if (words.count(LowerCase(file->dataset())) != 0) files.push_back(file);
    }
  }
  static std::atomic<uint64_t> next{0};
  const std::string schema = fmt::format("copy_{}", next++);
  WF_ASSIGN(auto connection, connections_->Borrow());
  WF_TRY(connection->Run(fmt::format("ATTACH {} AS {}", duck::Quote(path), schema)));
  const auto copy = [&]() -> Status {
    for (const auto& file : files) {
      const DatasetFile::View view = file->Look();
      const auto names = view.definitions();
      std::string select;
      std::vector<std::string> used;
      for (size_t i = 0; i < names.size(); ++i) {
        const bool named = words.count(LowerCase(names[i].name)) != 0;
        if (named) used.push_back(names[i].name);
        if (!named && words.count("*") == 0 && names[i].name != "time_ns") continue;
        select += fmt::format("{}{}{} AS {}", select.empty() ? "" : ", ", view.columns[i].stored,
                              names[i].type == ColumnType::kBool ? "::BOOLEAN" : "",
                              duck::QuoteName(names[i].name));
      }
      if (view.sampled_before) select += ", weight";
      file->CountUse(used);
      WF_TRY(connection->Run(fmt::format("CREATE TABLE {}.{} AS SELECT {} FROM {}", schema,
                                         duck::QuoteName(file->dataset()), select, view.table)));
    }
    return {};
  };
  const Status copied = copy();
  WF_TRY(connection->Run("DETACH " + schema));
  return copied;
}

Result<int64_t> DatasetFiles::TrimTo(int64_t most) {
  std::vector<std::shared_ptr<DatasetFile>> files;
  int64_t total = 0;
  {
    std::lock_guard lock(mutex_);
    WF_TRY(Open(Make::kIfThere));
    for (const auto& [key, file] : files_) {
      const int64_t bytes = file->Bytes();
      total += bytes;
      if (bytes >= kTrimmedBytes) files.push_back(file);
    }
  }
  int64_t deleted = 0;
  if (total <= most) return deleted;
  const double gone = 1 - kTrimmedShare * static_cast<double>(most) / static_cast<double>(total);
  for (const auto& file : files) {
    WF_ASSIGN(const auto oldest, RowsAndQuantile(*connections_, file->Look().table, gone));
    if (oldest.rows == 0) continue;
    RowRetention retention;
    retention.max_age_ns = SaturatingSub(Now(), oldest.time);
    WF_TRY(Retain(file->tenant(), file->dataset(), retention));
    const auto kept = Find(file->tenant(), file->dataset());
    if (!kept.ok()) continue;  // dropped meanwhile
    WF_ASSIGN(const auto left, RowsAndQuantile(*connections_, (*kept)->Look().table, gone));
    deleted += std::max<int64_t>(0, oldest.rows - left.rows);
  }
  return deleted;
}

Status DatasetFiles::SaveCounts() {
  std::vector<std::shared_ptr<DatasetFile>> files;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [key, file] : files_) files.push_back(file);
  }
  for (const auto& file : files) WF_TRY(file->SaveCounts());
  return {};
}

}  // namespace wf::store::duckdb
