#include "store/clickhouse/dataset_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/hash.h"
#include "base/ids.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {
namespace {

// How a fixed column is read. The id is kept as two numbers: as text it would be two thirds of many a dataset.
std::string FixedColumnSql(const std::string& name) {
  if (name != "trace_id") return name;
  constexpr std::string_view kHalf =
      "concat(substring('0000000000000000', 1, 16 - length(hex({0}))), lower(hex({0})))";
  return fmt::format("concat({}, {})", fmt::format(fmt::runtime(kHalf), "trace_hi"),
                     fmt::format(fmt::runtime(kHalf), "trace_lo"));
}

constexpr char kTypeLetters[] = "bidts";  // of ColumnType, in its order

// The same for everybody who adds this column, so that two who do it at once add one.
std::string StoredName(const ColumnDefinition& column, uint32_t version) {
  return fmt::format("c_{}_{}{}", ToHex64(HashBytes(column.name)), version,
                     kTypeLetters[static_cast<size_t>(column.type)]);
}

}  // namespace

std::string DatasetColumn::visible_name() const {
  return newest ? definition.name : fmt::format("{}@{}", definition.name, version);
}

std::vector<ColumnDefinition> DatasetState::definitions() const {
  std::vector<ColumnDefinition> out;
  for (const DatasetColumn& column : columns)
    out.push_back({column.visible_name(), column.definition.type});
  return out;
}

const DatasetColumn& DatasetState::Find(const std::string& visible_name) const {
  for (const DatasetColumn& column : columns) {
    if (column.visible_name() == visible_name) return column;
  }
  return columns.front();  // the caller has checked the name
}

std::string DatasetState::rows_table() const {
  Hasher128 hasher;
  hasher.Add(tenant);
  hasher.Add(dataset);
  const Hash128 hash = hasher.Finish();
  return fmt::format("rows_{}{}_{}", ToHex64(hash.hi), ToHex64(hash.lo), generation);
}

std::vector<DatasetColumn> NewColumns(const DatasetState& state, const DatasetTable& rows) {
  std::vector<DatasetColumn> out;
  const auto& fixed = FixedDatasetColumns();
  for (size_t i = fixed.size(); i < rows.columns.size(); ++i) {
    const ColumnDefinition& wanted = rows.columns[i].definition;
    uint32_t version = 1;
    bool there = false;
    const auto look = [&](const DatasetColumn& column) {
      if (column.definition.name != wanted.name) return;
      there = there || (column.newest && column.definition.type == wanted.type);
      version = std::max(version, column.version + 1);
    };
    for (size_t c = fixed.size(); c < state.columns.size(); ++c) look(state.columns[c]);
    for (const DatasetColumn& column : out) look(column);
    if (!there) out.push_back({wanted, version, true, StoredName(wanted, version), 0});
  }
  return out;
}

namespace {

// Of records that merges have not yet made one, the latest; and when the first came.
std::string RecordsSql(const std::string& table, const std::string& where) {
  return fmt::format(
      "SELECT dataset, generation, kind, process, name, version, type, argMax(number, written), "
      "max(written), min(written) FROM {} WHERE {} GROUP BY dataset, generation, kind, process, "
      "name, version, type FORMAT RowBinary",
      table, where);
}

}  // namespace

Result<std::vector<DatasetLog::Record>> DatasetLog::ReadRecords(const std::string& answer) const {
  std::vector<Record> records;
  RowReader reader(answer);
  while (reader.more()) {
    Record& record = records.emplace_back();
    record.dataset = reader.Text();
    record.generation = reader.Number<uint64_t>();
    record.kind = static_cast<Kind>(reader.Number<uint8_t>());
    record.process = reader.Number<uint64_t>();
    record.name = reader.Text();
    record.version = reader.Number<uint32_t>();
    record.type = reader.Number<uint8_t>();
    record.number = reader.Number<int64_t>();
    record.written = reader.Number<uint64_t>();
    record.first_written = reader.Number<uint64_t>();
  }
  WF_TRY(reader.status());
  return records;
}

DatasetState DatasetLog::StateOf(const std::string& tenant, const std::string& dataset,
                                 const std::vector<Record>& records, uint64_t not_uses_of) {
  DatasetState state;
  state.tenant = tenant;
  state.dataset = dataset;
  for (const Record& record : records) {
    state.last_written = std::max(state.last_written, record.written);
    if (record.kind == Kind::kDrop)
      state.generation = std::max(state.generation, record.generation + 1);
  }
  const auto in_force = [&](const Record& record, Kind kind) {
    return record.kind == kind && record.generation == state.generation;
  };
  for (const Record& record : records) {
    if (!in_force(record, Kind::kCommit)) continue;
    state.exists = true;
    state.committed[record.process] = record.written;
    state.replaced = state.replaced || record.number != 0;
  }
  std::vector<const Record*> columns;
  std::map<std::string, int64_t> uses;
  for (const Record& record : records) {
    if (in_force(record, Kind::kSampled))
      state.sampled_before = std::max(record.number, state.sampled_before.value_or(INT64_MIN));
    if (in_force(record, Kind::kKept)) {
      state.kept_from = record.number;
      state.kept_written = record.written;
    }
    if (in_force(record, Kind::kUses) && record.process != not_uses_of)
      uses[record.name] += record.number;
    if (!in_force(record, Kind::kColumn) || record.type > 4) continue;
    const auto by = state.committed.find(record.process);
    if (by != state.committed.end() && record.first_written <= by->second)
      columns.push_back(&record);
  }
  for (const ColumnDefinition& fixed : FixedDatasetColumns())
    state.columns.push_back({fixed, 1, true, FixedColumnSql(fixed.name), uses[fixed.name]});
  // In order of appearance; two writers who added the same column at once added one.
  std::sort(columns.begin(), columns.end(), [](const Record* a, const Record* b) {
    return std::tie(a->first_written, a->process, a->number) <
           std::tie(b->first_written, b->process, b->number);
  });
  std::set<std::string> seen;
  for (const Record* record : columns) {
    DatasetColumn column;
    column.definition = {record->name, static_cast<ColumnType>(record->type)};
    column.version = record->version;
    column.stored = StoredName(column.definition, column.version);
    if (!seen.insert(column.stored).second) continue;
    column.queries = uses[column.stored];
    for (size_t i = FixedDatasetColumns().size(); i < state.columns.size(); ++i)
      state.columns[i].newest &= state.columns[i].definition.name != record->name;
    state.columns.push_back(std::move(column));
  }
  return state;
}

Result<DatasetState> DatasetLog::Read(const std::string& tenant, const std::string& dataset,
                                      uint64_t not_uses_of) {
  WF_ASSIGN(const std::string answer,
            client_.Ask(kHomeShard, "reading a dataset's log",
                        RecordsSql(names_.Local("dataset_log"),
                                   fmt::format("tenant = {} AND dataset = {}", Quote(tenant),
                                               Quote(dataset)))));
  WF_ASSIGN(const std::vector<Record> records, ReadRecords(answer));
  return StateOf(tenant, dataset, records, not_uses_of);
}

Result<std::vector<DatasetState>> DatasetLog::ReadAll(const std::string& tenant,
                                                      uint64_t not_uses_of) {
  WF_ASSIGN(const std::string answer,
            client_.Ask(kHomeShard, "reading the log of all datasets",
                        RecordsSql(names_.Local("dataset_log"), "tenant = " + Quote(tenant))));
  WF_ASSIGN(std::vector<Record> records, ReadRecords(answer));
  std::map<std::string, std::vector<Record>> by_dataset;
  for (Record& record : records) by_dataset[record.dataset].push_back(std::move(record));
  std::vector<DatasetState> out;
  for (const auto& [dataset, own] : by_dataset) {
    DatasetState state = StateOf(tenant, dataset, own, not_uses_of);
    if (state.exists) out.push_back(std::move(state));
  }
  return out;
}

Status DatasetLog::Write(const DatasetState& state, std::string_view what,
                         const std::vector<Record>& records) {
  if (records.empty()) return {};
  std::string rows;
  RowWriter writer(rows);
  for (const Record& record : records) {
    writer.Text(state.tenant);
    writer.Text(state.dataset);
    writer.Number(state.generation);
    writer.Number(static_cast<uint8_t>(record.kind));
    writer.Number(record.process);
    writer.Text(record.name);
    writer.Number(record.version);
    writer.Number(record.type);
    writer.Number(record.number);
    writer.Number(record.written);
  }
  // A record that arrives twice says the same twice.
  return client_.Insert(kHomeShard, what,
                        fmt::format("INSERT INTO {} (tenant, dataset, generation, kind, process, "
                                    "name, version, type, number, written) FORMAT RowBinary",
                                    names_.Local("dataset_log")),
                        rows);
}

Status DatasetLog::AddColumns(const DatasetState& state, uint64_t process, uint64_t written,
                              const std::vector<DatasetColumn>& columns) {
  std::vector<Record> records;
  for (const DatasetColumn& column : columns) {
    Record& record = records.emplace_back();
    record.kind = Kind::kColumn;
    record.process = process;
    record.name = column.definition.name;
    record.version = column.version;
    record.type = static_cast<uint8_t>(column.definition.type);
    record.number = static_cast<int64_t>(records.size());
    record.written = written;
  }
  return Write(state, "adding columns of a dataset", records);
}

Status DatasetLog::Commit(const DatasetState& state, uint64_t process, uint64_t written,
                          Replacing replacing) {
  Record record;
  record.process = process;
  record.number = static_cast<int64_t>(replacing);
  record.written = written;
  return Write(state, "committing rows of a dataset", {record});
}

Status DatasetLog::Drop(const DatasetState& state) {
  Record record;
  record.kind = Kind::kDrop;
  record.written = state.last_written + 1;
  return Write(state, "dropping a dataset", {record});
}

Status DatasetLog::SetSampledBefore(const DatasetState& state, Nanos before) {
  Record record;
  record.kind = Kind::kSampled;
  record.number = before;
  record.written = state.last_written + 1;
  return Write(state, "noting what was subsampled", {record});
}

Status DatasetLog::SetKeptFrom(const DatasetState& state, Nanos from) {
  Record record;
  record.kind = Kind::kKept;
  record.number = from;
  record.written = state.last_written + 1;
  return Write(state, "noting from when rows are kept", {record});
}

Status DatasetLog::SaveUses(const DatasetState& state, uint64_t process,
                            const std::map<std::string, int64_t>& uses) {
  std::vector<Record> records;
  for (const auto& [name, count] : uses) {
    Record& record = records.emplace_back();
    record.kind = Kind::kUses;
    record.process = process;
    record.name = name;
    record.number = count;
    record.written = static_cast<uint64_t>(Now());
  }
  return Write(state, "counting uses of columns", records);
}

}  // namespace wf::store::clickhouse
