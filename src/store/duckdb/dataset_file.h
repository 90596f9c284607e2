// DatasetFile: the rows of one dataset of one tenant, in a DuckDB file of their own (datasets/NNNNNN.duckdb), so that
// dropping it frees its bytes at once and nothing of another tenant lies in it. In the file:
//
//   facts    one row: tenant, dataset, sampled_before (null: no row was subsampled)
//   columns  place, name, version, type, queries; the stored column is cPLACE
//   rows     trace_hi, trace_lo, time_ns, row_key, complete, weight, c0, c1, …
//
// Names that people chose are values in `columns`; SQL is only ever written with our own. Rows lie about in order of
// time_ns, because traces are processed soon after they happen, so the zone maps of time_ns find a trace's earlier rows
// without reading the others.
//
// Thread safety: all calls, from any thread; writers wait for each other, readers for nobody.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "store/duckdb/connection.h"
#include "store/store.h"

namespace wf::store::duckdb {

// A column as the file has it. `newest`: its name without @VERSION means this one.
struct FileColumn {
  ColumnDefinition definition;  // by the name it was given
  int64_t version = 1;
  bool newest = true;
  std::string stored;  // "c3"; of fixed columns their own names
  int64_t queries = 0;
};

class DatasetFile {
 public:
  // What a read needs of the file, taken at once. The file stays attached as long as this lives.
  struct View {
    std::string table;
    std::vector<FileColumn> columns;  // fixed ones first
    std::optional<Nanos> sampled_before;
    std::vector<ColumnDefinition> definitions() const;  // by visible name: latency, latency@1
    const FileColumn& Find(const std::string& visible_name) const;
  };

  // Puts more into a new file, before anybody can find it.
  using Fill = std::function<Status(DatasetFile& made, duck::Connection& connection)>;
  // The first rows, and with them the columns: who finds the file finds both. Borrows the table.
  static Fill WithRows(const DatasetTable& rows);
  static Result<std::shared_ptr<DatasetFile>> Create(duck::ConnectionPool& connections,
                                                     const std::string& folder, uint64_t number,
                                                     const std::string& tenant,
                                                     const std::string& dataset,
                                                     const Fill& fill = {});
  static Result<std::shared_ptr<DatasetFile>> Open(duck::ConnectionPool& connections,
                                                   const std::string& folder, uint64_t number);
  ~DatasetFile();  // detaches; a doomed file is deleted

  const std::string& tenant() const { return tenant_; }
  const std::string& dataset() const { return dataset_; }
  uint64_t number() const { return number_; }
  int64_t Bytes() const;

  View Look() const;
  // kMoved: the rows lie in another file since a rewrite; nothing was written, look it up again.
  enum class Outcome { kWritten, kMoved };
  Result<Outcome> Write(const DatasetTable& rows, const RowReplacement& replace);
  // Called with write_mutex() held, as Retire is. A copy of what `retention` keeps, in order of time, in a new file that is not used yet. Null: nothing would change.
  Result<std::shared_ptr<DatasetFile>> Rewrite(const std::string& folder, uint64_t number,
                                               const RowRetention& retention, Nanos now);
  void CountUse(const std::vector<std::string>& visible_names);
  Status SaveCounts();  // of uses, when there are new ones

  std::mutex& write_mutex() { return write_mutex_; }
  void Retire() { retired_ = doomed_ = true; }

 private:
  DatasetFile(duck::ConnectionPool& connections, const std::string& folder, uint64_t number);
  Status Load();
  // The stored columns for a table's own, adding those that are missing. Within a transaction.
  Result<std::vector<FileColumn>> Extend(duck::Connection& connection, const DatasetTable& rows);
  Status WriteLocked(duck::Connection& connection, const DatasetTable& rows,
                     const RowReplacement& replace, std::vector<FileColumn>& columns);

  duck::ConnectionPool& connections_;
  const uint64_t number_;
  const std::string path_, schema_;
  std::string tenant_, dataset_;
  std::atomic<bool> doomed_{false};

  std::mutex write_mutex_;           // held while rows change
  bool retired_ = false;             // under it
  mutable std::mutex mutex_;         // guards what follows
  std::vector<FileColumn> columns_;  // without the fixed ones
  std::vector<int64_t> fixed_queries_;
  std::optional<Nanos> sampled_before_;
  bool counts_changed_ = false;
};

}  // namespace wf::store::duckdb
