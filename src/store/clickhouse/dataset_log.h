// The log of a dataset: which of the rows that lie on the shards count, and what their columns are called.
//
// ClickHouse 18.16 has no transactions: an insert is atomic on one shard, and nothing is over several. So a write goes
// in three steps: its columns' records and its rows, each marked with (process, written), on every shard concerned;
// then one record on the home shard, the commit: "of this process, everything up to `written` counts". A
// reader asks the log first and gives what it found as constants to the query over all shards, so it sees each write
// whole or not at all, columns included. A writer that dies in between leaves rows that no commit covers: nobody sees
// them, and retention deletes them.
//
// A process is a number that one writer of one dataset draws. When a write fails, nobody knows what of it arrived:
// the writer draws another number and writes everything again under it; what it committed before stays committed.
// Inserts of rows are sent once and never repeated (Client::InsertOnce), so rows of a committed write lie there once.
//
// Replacing: a write that replaces traces puts (trace, process, written) into the table of replacements on the trace's
// shard. Rows of a trace count when they are not older than the trace's latest replacement that is committed. `written`
// is drawn later than everything the log has, so of two writers who replace the same trace, the later one wins, whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "model/dataset_table.h"
#include "store/clickhouse/client.h"
#include "store/clickhouse/schema.h"

namespace wf::store::clickhouse {

// A column as the tables have it. `newest`: its name without @VERSION means this one.
struct DatasetColumn {
  ColumnDefinition definition;  // by the name it was given
  uint32_t version = 1;
  bool newest = true;
  std::string stored;  // of fixed columns: how they are read
  int64_t queries = 0;

  std::string visible_name() const;
};

// What the log says about a dataset at one instant.
struct DatasetState {
  std::string tenant, dataset;
  bool exists = false;
  uint64_t generation = 0;                 // how often it was dropped
  std::map<uint64_t, uint64_t> committed;  // process → written
  bool replaced = false;                   // some committed write replaced traces
  uint64_t last_written = 0;               // of all records
  std::vector<DatasetColumn> columns;      // fixed ones first, then in order of first appearance
  std::optional<Nanos> sampled_before;
  // Rows of a time before this do not count, unless they were written after it was said.
  std::optional<Nanos> kept_from;
  uint64_t kept_written = 0;

  std::vector<ColumnDefinition> definitions() const;  // by visible name: latency, latency@1
  const DatasetColumn& Find(const std::string& visible_name) const;
  // The tables' names; those of another generation are other tables.
  std::string rows_table() const;
  std::string replacements_table() const { return rows_table() + "_replaced"; }
};

// The columns a table needs beyond those that are there; each is newest then.
std::vector<DatasetColumn> NewColumns(const DatasetState& state, const DatasetTable& rows);

class DatasetLog {
 public:
  DatasetLog(Client& client, const TableNames& names) : client_(client), names_(names) {}

  // `not_uses_of`: a process whose counts of uses are left out, because it knows better.
  Result<DatasetState> Read(const std::string& tenant, const std::string& dataset,
                            uint64_t not_uses_of);
  Result<std::vector<DatasetState>> ReadAll(
      const std::string& tenant,
      uint64_t not_uses_of);  // by name; only those that exist

  // One write's columns, before its rows.
  Status AddColumns(const DatasetState& state, uint64_t process, uint64_t written,
                    const std::vector<DatasetColumn>& columns);
  enum class Replacing : uint8_t {
    kNo = 0,
    kYes = 1
  };  // this write or an earlier one of the process
  Status Commit(const DatasetState& state, uint64_t process, uint64_t written, Replacing replacing);
  Status Drop(const DatasetState& state);
  Status SetSampledBefore(const DatasetState& state, Nanos before);
  // For everything written up to the state.
  Status SetKeptFrom(const DatasetState& state, Nanos from);
  // How often this process used each column, by stored or fixed name.
  Status SaveUses(const DatasetState& state, uint64_t process,
                  const std::map<std::string, int64_t>& uses);

 private:
  enum class Kind : uint8_t {
    kCommit = 1,
    kColumn = 2,
    kDrop = 3,
    kSampled = 4,
    kUses = 5,
    kKept = 6
  };
  struct Record {
    Kind kind = Kind::kCommit;
    uint64_t process = 0;
    std::string name = {};
    uint32_t version = 0;
    uint8_t type = 0;
    int64_t number = 0;
    uint64_t written = 0;
    uint64_t generation = 0;
    std::string dataset = {};
    uint64_t first_written = 0;
  };

  Result<std::vector<Record>> ReadRecords(const std::string& answer) const;
  static DatasetState StateOf(const std::string& tenant, const std::string& dataset,
                              const std::vector<Record>& records, uint64_t not_uses_of);
  Status Write(const DatasetState& state, std::string_view what,
               const std::vector<Record>& records);

  Client& client_;
  const TableNames& names_;
};

}  // namespace wf::store::clickhouse
