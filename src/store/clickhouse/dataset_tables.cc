// The tables of one dataset: made when first written, widened when a column comes, dropped with it.
//
// Rows lie in order of time, because most questions ask for a range of it, in partitions of thirty days, because
// retention takes the oldest. Times that no clock shows fall into the partitions at both ends: as many partitions as
// there are wrong clocks would be too many.
#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/datasets.h"
#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {
namespace {

constexpr char kRowsEngine[] =
    "MergeTree PARTITION BY intDiv(greatest(least(time_ns, 4102444800000000000), "
    "946684800000000000), 2592000000000000) ORDER BY (time_ns, trace_hi, trace_lo)";

std::string TypeSql(ColumnType type) {
  switch (type) {
    case ColumnType::kBool:
      return "Nullable(UInt8)";
    case ColumnType::kInt:
      return "Nullable(Int64)";
    case ColumnType::kDouble:
      return "Nullable(Float64)";
    case ColumnType::kText:
    case ColumnType::kStack:
      return "Nullable(String)";
  }
  return "Nullable(String)";
}

TableSpec RowsTable(const DatasetState& state, const std::vector<DatasetColumn>& columns) {
  TableSpec table = {state.rows_table(),
                     {{"trace_hi", "UInt64"},
                      {"trace_lo", "UInt64"},
                      {"time_ns", "Int64", "Delta, ZSTD(1)"},
                      {"row_key", "String"},
                      {"complete", "UInt8"},
                      {"weight", "Int64"},
                      {"process", "UInt64", "ZSTD(1)"},
                      {"written", "UInt64", "ZSTD(1)"}},
                     kRowsEngine,
                     {"traces (trace_hi, trace_lo) TYPE bloom_filter GRANULARITY 4"}};
  for (const DatasetColumn& column : columns)
    table.columns.push_back({column.stored, TypeSql(column.definition.type), "ZSTD(1)"});
  return table;
}

TableSpec ReplacementsTable(const DatasetState& state) {
  return {state.replacements_table(),
          {{"trace_hi", "UInt64"},
           {"trace_lo", "UInt64"},
           {"process", "UInt64"},
           {"written", "UInt64"}},
          "MergeTree ORDER BY (trace_hi, trace_lo)"};
}

// Two who make the same table at once: one is told that it is there, or is being made.
bool MadeMeanwhile(const Status& status) {
  return !status.ok() && ServerCode(status.error()) == server_code::kTableExists;
}

}  // namespace

Status Datasets::AddMissingColumns(size_t shard, const std::string& table,
                                   const std::vector<DatasetColumn>& columns) {
  for (int attempt = 0;; ++attempt) {
    WF_ASSIGN(const std::string answer,
              client_.Ask(shard, "looking for a dataset's columns",
                          fmt::format("SELECT name FROM system.columns WHERE database = {} AND "
                                      "table = {} FORMAT TabSeparated",
                                      Quote(client_.url().database), Quote(table))));
    std::set<std::string> there;
    for (size_t at = 0; at < answer.size();) {
      const size_t end = std::min(answer.find('\n', at), answer.size());
      there.insert(answer.substr(at, end - at));
      at = end + 1;
    }
    std::string adding;
    for (const DatasetColumn& column : columns) {
      if (there.count(column.stored) != 0) continue;
      adding += fmt::format("{}ADD COLUMN {} {}", adding.empty() ? "" : ", ", column.stored,
                            TypeSql(column.definition.type));
    }
    if (adding.empty()) return {};
    const Status added = client_.Run(shard, "adding columns to a dataset's table",
                                     fmt::format("ALTER TABLE {} {}", names_.Local(table), adding));
    if (added.ok()) return {};
    const int code = ServerCode(added.error());
    const bool by_another =
        code == server_code::kDuplicateColumn || code == server_code::kIllegalColumn;
    if (!by_another || attempt == 10) return added;
  }
}

Status Datasets::EnsureTables(const DatasetState& state,
                              const std::vector<DatasetColumn>& columns) {
  const std::string table = state.rows_table();
  {
    const std::lock_guard lock(mutex_);
    bool all = made_.count(table) != 0;
    for (const DatasetColumn& column : columns)
      all = all && made_.count(table + " " + column.stored) != 0;
    if (all) return {};
  }
  const auto make = [&](size_t shard, const std::string& sql) -> Status {
    const Status made = client_.Run(shard, "making a dataset's tables", sql);
    return MadeMeanwhile(made) ? Status() : made;
  };
  const bool several = client_.shards() > 1;
  for (size_t shard = 0; shard < client_.shards(); ++shard) {
    WF_TRY(make(shard, CreateTableSql(names_, RowsTable(state, columns), features_)));
    WF_TRY(make(shard, CreateTableSql(names_, ReplacementsTable(state), features_)));
    WF_TRY(AddMissingColumns(shard, table, columns));
  }
  // After every shard's own: a query over all finds its columns everywhere.
  for (size_t shard = 0; several && shard < client_.shards(); ++shard) {
    WF_TRY(make(shard, CreateDistributedSql(names_, client_.url(), table)));
    WF_TRY(AddMissingColumns(shard, table + "_all", columns));
  }
  const std::lock_guard lock(mutex_);
  made_.insert(table);
  for (const DatasetColumn& column : columns) made_.insert(table + " " + column.stored);
  return {};
}

Status Datasets::DropTables(const DatasetState& state) {
  {
    const std::lock_guard lock(mutex_);
    const std::string table = state.rows_table();
    for (auto at = made_.begin(); at != made_.end();)
      at = at->rfind(table, 0) == 0 ? made_.erase(at) : std::next(at);
  }
  const auto drop = [&](const std::string& name) {
    return client_.RunEverywhere("dropping a dataset's tables", "DROP TABLE IF EXISTS " + name);
  };
  if (client_.shards() > 1) WF_TRY(drop(names_.All(state.rows_table())));
  WF_TRY(drop(names_.Local(state.rows_table())));
  return drop(names_.Local(state.replacements_table()));
}

}  // namespace wf::store::clickhouse
