#include "store/clickhouse/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "base/utf8.h"
#include "log/log.h"
#include "store/clickhouse/dataset_sql.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"
#include "store/row_query.h"

namespace wf::store::clickhouse {
namespace {

// Of one insert: ClickHouse makes one part of it, and holds it in memory while it does.
constexpr size_t kInsertRows = 200'000;
constexpr size_t kInsertBytes = 32u << 20;
constexpr Nanos kSaveUsesEvery = kMinute;

// Never small, so that ClickHouse takes a list of them for UInt64 and nothing narrower.
uint64_t DrawProcess() {
  std::random_device random;
  return (uint64_t{1} << 63) | (uint64_t{random()} << 32) | random();
}

Error NoDataset(const std::string& dataset) {
  return NotFound(fmt::format("dataset {}: no rows", dataset),
                  "wherefore dataset list shows them; dataset backfill fills one");
}

// Dropped, and perhaps made anew, since the log was read.
bool TableIsGone(const Error& error) {
  const int code = ServerCode(error);
  return code == server_code::kUnknownTable || code == server_code::kUnknownColumn;
}

bool NamesRegex(const DatasetQuery& query) {
  return std::any_of(query.where.begin(), query.where.end(),
                     [](const ColumnCondition& c) { return c.op == CompareOp::kMatches; });
}

// The words about a regular expression, without what the client and the server put around them.
std::string RegexWords(const std::string& message) {
  const size_t at = message.find("re2: ");
  std::string words = at == std::string::npos ? message : message.substr(at + 5);
  return words.substr(0, words.find(". Look at"));
}

void WriteCell(const TableColumn& column, size_t row, RowWriter& out) {
  const bool null = column.valid[row] == 0;
  out.Nullable(null ? RowWriter::Null::kYes : RowWriter::Null::kNo);
  if (null) return;
  switch (column.definition.type) {
    case ColumnType::kBool:
      return out.Number(static_cast<uint8_t>(column.numbers[row] != 0 ? 1 : 0));
    case ColumnType::kInt:
      return out.Number(column.numbers[row]);
    case ColumnType::kDouble:
      return out.Number(column.doubles[row]);
    case ColumnType::kText:
    case ColumnType::kStack:
      return out.Text(RepairUtf8(column.texts[row]));
  }
}

std::vector<DatasetColumn> OwnColumns(const DatasetState& state) {
  return {state.columns.begin() + static_cast<ptrdiff_t>(FixedDatasetColumns().size()),
          state.columns.end()};
}

void CutAt(size_t limit, DatasetRows& rows) {
  rows.more = rows.table.rows() > limit;
  if (!rows.more) return;
  for (TableColumn& column : rows.table.columns) {
    column.valid.resize(limit);
    if (!column.numbers.empty()) column.numbers.resize(limit);
    if (!column.doubles.empty()) column.doubles.resize(limit);
    if (!column.texts.empty()) column.texts.resize(limit);
  }
}

}  // namespace

Datasets::Datasets(Client& client, const TableNames& names, const ServerFeatures& features,
                   const Placement& placement, Nanos retry_for)
    : client_(client),
      names_(names),
      features_(features),
      placement_(placement),
      retry_for_(retry_for),
      log_(client, names),
      process_(DrawProcess()),
      uses_saved_(MonotonicNow()) {}

Datasets::~Datasets() {
  if (const Status saved = SaveUses(); !saved.ok())
    log::Warn("counts of dataset queries: {}", saved.error().message);
}

std::shared_ptr<Datasets::Writer> Datasets::WriterOf(const Key& key) {
  const std::lock_guard lock(mutex_);
  auto& writer = writers_[key];
  if (writer == nullptr) writer = std::make_shared<Writer>();
  return writer;
}

// ---- writing

Status Datasets::Write(const std::string& tenant, const std::string& dataset,
                       const DatasetTable& rows, const RowReplacement& replace) {
  if (!rows.columns.empty()) WF_TRY(CheckDatasetTable(dataset, rows));
  const std::shared_ptr<Writer> writer = WriterOf({tenant, dataset});
  const std::lock_guard lock(writer->mutex);
  const Nanos deadline = MonotonicNow() + retry_for_;
  for (Nanos pause = 50 * kMilli;; pause = std::min(2 * pause, 2 * kSecond)) {
    const Status written = WriteOnce(*writer, tenant, dataset, rows, replace);
    if (written.ok()) return {};
    // Whatever arrived of it is covered by no commit, as long as this process never commits again.
    writer->process = 0;
    const Error& error = written.error();
    const bool again =
        error.code == ErrorCode::kOverloaded ||
        (error.code == ErrorCode::kEnvironment && (ServerCode(error) == 0 || TableIsGone(error)));
    if (!again || MonotonicNow() + pause > deadline) return written;
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause));
  }
}

Status Datasets::WriteOnce(Writer& writer, const std::string& tenant, const std::string& dataset,
                           const DatasetTable& rows, const RowReplacement& replace) {
  WF_ASSIGN(const DatasetState state, log_.Read(tenant, dataset, process_));
  if (!state.exists && rows.columns.empty()) return {};
  if (writer.process == 0) {
    writer.process = DrawProcess();
    writer.replacing = DatasetLog::Replacing::kNo;
  }
  writer.written = std::max({static_cast<uint64_t>(std::max<Nanos>(Now(), 1)),
                             state.last_written + 1, writer.written + 1});
  std::vector<DatasetColumn> columns = NewColumns(state, rows);
  // All of them: the tables may be of a process that died before it had made them everywhere.
  std::vector<DatasetColumn> all = OwnColumns(state);
  all.insert(all.end(), columns.begin(), columns.end());
  WF_TRY(EnsureTables(state, all));
  WF_TRY(log_.AddColumns(state, writer.process, writer.written, columns));
  WF_TRY(InsertRows(state, writer, all, rows));
  if (!replace.traces.empty()) {
    WF_TRY(InsertReplacements(state, writer, replace));
    writer.replacing = DatasetLog::Replacing::kYes;
  }
  return CommitAndMakeSure(writer, state);
}

Status Datasets::MakeAllTables() {
  WF_ASSIGN(const auto tenants, Tenants());
  for (const std::string& tenant : tenants) {
    WF_ASSIGN(const auto states, log_.ReadAll(tenant, process_));
    for (const DatasetState& state : states) WF_TRY(EnsureTables(state, OwnColumns(state)));
  }
  return {};
}

Status Datasets::CommitAndMakeSure(Writer& writer, const DatasetState& state) {
  const Status committed = log_.Commit(state, writer.process, writer.written, writer.replacing);
  if (committed.ok()) return {};
  // It may have arrived all the same, and then writing again would write twice.
  WF_ASSIGN(const DatasetState now, log_.Read(state.tenant, state.dataset, process_));
  const auto found = now.committed.find(writer.process);
  if (found != now.committed.end() && found->second >= writer.written) return {};
  return committed;
}

Status Datasets::InsertRows(const DatasetState& state, const Writer& writer,
                            const std::vector<DatasetColumn>& columns, const DatasetTable& rows) {
  if (rows.rows() == 0) return {};
  const size_t fixed = FixedDatasetColumns().size();
  std::string names = "trace_hi, trace_lo, time_ns, row_key, complete, weight, process, written";
  for (size_t i = fixed; i < rows.columns.size(); ++i) {
    // Of columns of one name the last one is the newest.
    const auto found = std::find_if(columns.rbegin(), columns.rend(), [&](const DatasetColumn& c) {
      return c.newest && c.definition == rows.columns[i].definition;
    });
    if (found == columns.rend()) {
      return EnvironmentError(fmt::format("dataset {}: a column was not added", state.dataset),
                              "this is a fault of the program");
    }
    names += ", " + found->stored;
  }
  const std::string statement =
      fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", names_.Local(state.rows_table()), names);
  Settings settings;  // one block, and as many partitions as it takes
  if (features_.version.AtLeast(20, 1))
    settings.emplace_back("max_partitions_per_insert_block", "0");
  std::vector<std::string> bytes(client_.shards());
  std::vector<size_t> counts(client_.shards());
  const auto send = [&](size_t shard) -> Status {
    WF_TRY(
        client_.InsertOnce(shard, "writing rows of a dataset", statement, bytes[shard], settings));
    bytes[shard].clear();
    counts[shard] = 0;
    return {};
  };
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto id = ParseTraceId(rows.columns[0].texts[row]);
    if (!id.ok())
      return BadInput(
          fmt::format("dataset {}: a row's trace_id is not 32 hex digits", state.dataset),
          "this is a bug in the program that wrote it");
    const size_t shard = placement_.Of(*id);
    RowWriter out(bytes[shard]);
    out.Number(id->hi);
    out.Number(id->lo);
    out.Number(rows.columns[1].numbers[row]);
    out.Text(RepairUtf8(rows.columns[2].texts[row]));
    out.Number(static_cast<uint8_t>(rows.columns[3].numbers[row] != 0 ? 1 : 0));
    out.Number(int64_t{1});
    out.Number(writer.process);
    out.Number(writer.written);
    for (size_t i = fixed; i < rows.columns.size(); ++i) WriteCell(rows.columns[i], row, out);
    if (++counts[shard] >= kInsertRows || bytes[shard].size() >= kInsertBytes) WF_TRY(send(shard));
  }
  for (size_t shard = 0; shard < client_.shards(); ++shard) WF_TRY(send(shard));
  return {};
}

Status Datasets::InsertReplacements(const DatasetState& state, const Writer& writer,
                                    const RowReplacement& replace) {
  std::vector<std::string> bytes(client_.shards());
  for (const TraceId& id : replace.traces) {
    for (const size_t shard : placement_.OfAllTimes(id)) {
      RowWriter out(bytes[shard]);
      out.Number(id.hi);
      out.Number(id.lo);
      out.Number(writer.process);
      out.Number(writer.written);
    }
  }
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    // Twice says the same twice.
    WF_TRY(client_.Insert(shard, "replacing rows of a dataset",
                          fmt::format("INSERT INTO {} (trace_hi, trace_lo, process, written) "
                                      "FORMAT RowBinary",
                                      names_.Local(state.replacements_table())),
                          bytes[shard]));
  }
  return {};
}

// ---- asking

Result<DatasetRows> Datasets::Query(const std::string& tenant, const std::string& dataset,
                                    const DatasetQuery& query) {
  for (int attempt = 0;; ++attempt) {
    WF_ASSIGN(const DatasetState state, log_.Read(tenant, dataset, process_));
    if (!state.exists) return NoDataset(dataset);
    WF_TRY(CheckQuery(state.definitions(), query));
    auto rows = QueryOnce(state, query);
    if (!rows.ok() && TableIsGone(rows.error()) && attempt < 3) continue;
    if (rows.ok()) {
      if (query.counting == DatasetQuery::Counting::kCount) CountUse(state, ColumnsUsed(query));
      return rows;
    }
    const Error& error = rows.error();
    if (NamesRegex(query) && ServerCode(error) == server_code::kBadRegex)
      return BadInput("~: " + RegexWords(error.message),
                      "it takes a regular expression of RE2's syntax");
    return Error{
        error.code, fmt::format("dataset {}: {}", dataset, error.message),
        ServerCode(error) != 0 ? "narrow it with --where, or group by fewer columns" : error.hint};
  }
}

Result<DatasetRows> Datasets::QueryOnce(const DatasetState& state, const DatasetQuery& query) {
  constexpr std::string_view kWhat = "asking for rows of a dataset";
  if (query.grouped() && AsksForSampledRows(state.sampled_before, query)) {
    const RowSql sql = EstimateSql(state, names_, query);
    WF_ASSIGN(const std::string answer, client_.AskAny(kWhat, sql.text));
    return ReadEstimates(state, query, sql, answer);
  }
  const RowSql sql = QuerySql(state, names_, query);
  WF_ASSIGN(const std::string answer, client_.AskAny(kWhat, sql.text));
  DatasetRows rows;
  WF_ASSIGN(rows.table, ReadTable(answer, sql.columns));
  CutAt(query.limit, rows);
  if (query.grouped()) {
    for (TableColumn& column : rows.table.columns)
      for (double& value : column.doubles) value = SteadyDouble(value);
  }
  return rows;
}

Result<std::vector<DatasetStatus>> Datasets::Read(const std::string& tenant) {
  WF_ASSIGN(std::vector<DatasetState> states, log_.ReadAll(tenant, process_));
  WF_ASSIGN(auto bytes, WeighTables());
  std::vector<DatasetStatus> out;
  for (DatasetState& state : states) {
    AddOwnUses(state);
    const CountingRows rows = RowsThatCount(state, names_);
    auto answer =
        client_.AskAny("counting rows of a dataset",
                       fmt::format("SELECT toInt64(count()), toInt64(min(time_ns)), "
                                   "toInt64(max(time_ns)) FROM {} WHERE {} FORMAT RowBinary",
                                   rows.from, rows.where));
    if (!answer.ok() && TableIsGone(answer.error())) continue;  // dropped meanwhile
    WF_TRY(answer);
    RowReader reader(*answer);
    DatasetStatus& status = out.emplace_back();
    status.name = state.dataset;
    status.rows = reader.Number<int64_t>();
    const auto oldest = reader.Number<int64_t>(), newest = reader.Number<int64_t>();
    WF_TRY(reader.status());
    if (status.rows != 0) status.oldest_ns = oldest, status.newest_ns = newest;
    status.bytes = bytes[state.rows_table()] + bytes[state.replacements_table()];
    status.sampled_before = state.sampled_before;
    const auto definitions = state.definitions();
    for (size_t i = 0; i < definitions.size(); ++i)
      status.columns.push_back({definitions[i], state.columns[i].queries});
  }
  return out;
}

Status Datasets::Drop(const std::string& tenant, const std::string& dataset) {
  const std::shared_ptr<Writer> writer = WriterOf({tenant, dataset});
  const std::lock_guard lock(writer->mutex);
  WF_ASSIGN(const DatasetState state, log_.Read(tenant, dataset, process_));
  if (!state.exists) return {};
  // From here on it is gone for everybody; the tables are only room that they take.
  WF_TRY(log_.Drop(state));
  writer->process = 0;
  {
    const std::lock_guard uses_lock(mutex_);
    uses_.erase({tenant, dataset, state.generation});
  }
  return DropTables(state);
}

// ---- counting uses

void Datasets::CountUse(const DatasetState& state, const std::vector<std::string>& visible_names) {
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    Uses& uses = uses_[{state.tenant, state.dataset, state.generation}];
    uses.state.tenant = state.tenant;
    uses.state.dataset = state.dataset;
    uses.state.generation = state.generation;
    for (const std::string& name : visible_names) {
      for (size_t i = 0; i < state.columns.size(); ++i) {
        const DatasetColumn& column = state.columns[i];
        if (column.visible_name() != name) continue;
        const bool fixed = i < FixedDatasetColumns().size();
        ++uses.by_column[fixed ? column.definition.name : column.stored];
      }
    }
    uses_changed_ = uses_changed_ || !visible_names.empty();
    due = MonotonicNow() - uses_saved_ > kSaveUsesEvery;
  }
  if (!due) return;
  if (const Status saved = SaveUses(); !saved.ok())
    log::Warn("counts of dataset queries: {}", saved.error().message);
}

void Datasets::AddOwnUses(DatasetState& state) {
  const std::lock_guard lock(mutex_);
  const auto found = uses_.find({state.tenant, state.dataset, state.generation});
  if (found == uses_.end()) return;
  for (size_t i = 0; i < state.columns.size(); ++i) {
    DatasetColumn& column = state.columns[i];
    const bool fixed = i < FixedDatasetColumns().size();
    const auto count = found->second.by_column.find(fixed ? column.definition.name : column.stored);
    if (count != found->second.by_column.end()) column.queries += count->second;
  }
}

Status Datasets::SaveUses() {
  std::vector<Uses> all;
  {
    const std::lock_guard lock(mutex_);
    uses_saved_ = MonotonicNow();
    if (!uses_changed_) return {};
    uses_changed_ = false;
    for (const auto& [key, uses] : uses_) all.push_back(uses);
  }
  for (const Uses& uses : all) WF_TRY(log_.SaveUses(uses.state, process_, uses.by_column));
  return {};
}

}  // namespace wf::store::clickhouse
