// DatasetFiles: all datasets of a store, each a file of folder datasets/ (dataset_file.h), in a DuckDB instance of their
// own: their questions need other memory and threads than the writing of events, and neither may take the other's.
// Opened when first needed. Thread safety: all calls, from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/duckdb/dataset_file.h"

namespace wf::store::duckdb {

class DatasetFiles {
 public:
  DatasetFiles(std::string folder, std::string temp_directory)
      : folder_(std::move(folder)), temp_directory_(std::move(temp_directory)) {}
  ~DatasetFiles();

  Status Write(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
               const RowReplacement& replace);
  Result<DatasetRows> Query(const std::string& tenant, const std::string& dataset,
                            const DatasetQuery& query);
  Result<std::vector<DatasetStatus>> Read(const std::string& tenant);
  Result<std::map<std::string, int64_t>> BytesByTenant();
  Status Drop(const std::string& tenant, const std::string& dataset);
  Status Retain(const std::string& tenant, const std::string& dataset,
                const RowRetention& retention);
  // Copies the datasets of the tenant that `sql` names into a new DuckDB file, as tables of their names.
  Status CopyNamed(const std::string& tenant, const std::string& sql, const std::string& path);
  Status SaveCounts();
  // Deletes the oldest rows of the larger datasets until all together are well below `most` bytes. Rows deleted.
  Result<int64_t> TrimTo(int64_t most);

 private:
  using Key = std::pair<std::string, std::string>;  // tenant, dataset
  enum class Make { kIfThere, kMake };
  Status Open(Make make);  // mutex_ held
  Result<std::shared_ptr<DatasetFile>> Find(const std::string& tenant, const std::string& dataset);
  enum class Made { kNew, kWasThere };
  Result<Made> MakeWith(const std::string& tenant, const std::string& dataset,
                        const DatasetTable& rows);
  std::vector<std::shared_ptr<DatasetFile>> All(const std::string& tenant);

  const std::string folder_, temp_directory_;
  std::mutex making_;  // held while a dataset is made, and taken before the next
  std::mutex mutex_;
  std::unique_ptr<duck::Database> database_;
  std::unique_ptr<duck::ConnectionPool> connections_;
  std::map<Key, std::shared_ptr<DatasetFile>> files_;
  uint64_t next_number_ = 1;
};

}  // namespace wf::store::duckdb
