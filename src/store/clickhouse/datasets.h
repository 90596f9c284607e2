// Datasets: rows of datasets in ClickHouse. Each dataset has tables of its own on every shard: rows, sharded by trace,
// and the replacements of traces; dataset_log.h tells which of their rows count.
//
// Thread safety: all calls, from any thread. Writers of one dataset in this process wait for each other, because a
// commit covers everything its process wrote before; those of other processes, and readers, wait for nobody.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/clickhouse/client.h"
#include "store/clickhouse/dataset_log.h"
#include "store/clickhouse/placement.h"
#include "store/clickhouse/schema.h"
#include "store/store.h"

namespace wf::store::clickhouse {

class Datasets {
 public:
  Datasets(Client& client, const TableNames& names, const ServerFeatures& features,
           const Placement& placement, Nanos retry_for);
  ~Datasets();  // saves counts of uses

  Status Write(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
               const RowReplacement& replace);
  Result<DatasetRows> Query(const std::string& tenant, const std::string& dataset,
                            const DatasetQuery& query);
  Result<std::vector<DatasetStatus>> Read(const std::string& tenant);
  Status Drop(const std::string& tenant, const std::string& dataset);
  // dataset_retention.cc
  Status Retain(const std::string& tenant, const std::string& dataset,
                const RowRetention& retention);
  // Deletes rows that were replaced, and those of writes that were never committed, if written before this. Retain does
  // it now and then, for what is older than any write or query under way.
  Status Vacuum(const DatasetState& state, uint64_t before);
  // Of all tenants: when datasets take more bytes than this, the oldest rows of the large ones go. How many went.
  Result<int64_t> TrimTo(int64_t most);
  // typed_sql.cc: SQL that somebody typed.
  Result<SqlRows> RunSql(const std::string& tenant, const std::string& sql);
  Status SaveUses();
  Result<std::map<std::string, int64_t>> BytesByTenant();
  // On every shard, of every dataset: when a shard has come, which questions will be sent to, too.
  Status MakeAllTables();

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, dataset
  struct Writer {
    std::mutex mutex;
    uint64_t process = 0;  // 0: to be drawn
    uint64_t written = 0;
    DatasetLog::Replacing replacing = DatasetLog::Replacing::kNo;  // so far
  };

  std::shared_ptr<Writer> WriterOf(const Key& key);
  Status WriteOnce(Writer& writer, const std::string& tenant, const std::string& dataset,
                   const DatasetTable& rows, const RowReplacement& replace);
  Status CommitAndMakeSure(Writer& writer, const DatasetState& state);
  Status InsertRows(const DatasetState& state, const Writer& writer,
                    const std::vector<DatasetColumn>& columns, const DatasetTable& rows);
  Status InsertReplacements(const DatasetState& state, const Writer& writer,
                            const RowReplacement& replace);
  Result<DatasetRows> QueryOnce(const DatasetState& state, const DatasetQuery& query);

  // dataset_tables.cc: makes the tables on every shard where they, or some of these columns, are missing.
  Status EnsureTables(const DatasetState& state, const std::vector<DatasetColumn>& columns);
  Status AddMissingColumns(size_t shard, const std::string& table,
                           const std::vector<DatasetColumn>& columns);
  Status DropTables(const DatasetState& state);

  // dataset_retention.cc
  Status HideOld(const DatasetState& state, Nanos oldest);
  Status DeleteHidden(const DatasetState& state);
  Status Thin(const DatasetState& state, Nanos before, int64_t keep_one_in);
  bool VacuumIsDue(const DatasetState& state);
  Result<int64_t> CountWhere(const DatasetState& state, const std::string& condition);
  Result<std::map<std::string, int64_t>> WeighTables();
  Result<std::vector<std::string>> Tenants();

  void CountUse(const DatasetState& state, const std::vector<std::string>& visible_names);
  void AddOwnUses(DatasetState& state);

  Client& client_;
  const TableNames& names_;
  const ServerFeatures& features_;
  const Placement& placement_;  // of a trace's rows: as of its events
  const Nanos retry_for_;
  DatasetLog log_;
  const uint64_t process_;  // whose uses are counted

  std::mutex mutex_;  // guards what follows
  std::map<Key, std::shared_ptr<Writer>> writers_;
  std::set<std::string> made_;  // "table column": known to be on every shard
  struct Uses {
    DatasetState state;  // which one
    std::map<std::string, int64_t> by_column;
  };
  std::map<std::tuple<std::string, std::string, uint64_t>, Uses> uses_;  // also by generation
  std::map<std::string, Nanos> vacuumed_;                                // by table; monotonic
  bool uses_changed_ = false;
  Nanos uses_saved_ = 0;  // monotonic
};

}  // namespace wf::store::clickhouse
