// Rows of datasets, for the Store's callers: DatasetFiles does the work.
#include "store/duckdb/sql_sandbox.h"
#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {

Status DuckdbStore::WriteRows(const std::string& tenant, const std::string& dataset,
                              const DatasetTable& rows, const RowReplacement& replace) {
  return datasets_.Write(tenant, dataset, rows, replace);
}

Result<DatasetRows> DuckdbStore::QueryRows(const std::string& tenant, const std::string& dataset,
                                           const DatasetQuery& query) {
  return datasets_.Query(tenant, dataset, query);
}

Result<std::vector<DatasetStatus>> DuckdbStore::ReadDatasets(const std::string& tenant) {
  return datasets_.Read(tenant);
}

Status DuckdbStore::DropDataset(const std::string& tenant, const std::string& dataset) {
  return datasets_.Drop(tenant, dataset);
}

Status DuckdbStore::RetainRows(const std::string& tenant, const std::string& dataset,
                               const RowRetention& retention) {
  return datasets_.Retain(tenant, dataset, retention);
}

Result<SqlRows> DuckdbStore::RunSql(const std::string& tenant, const std::string& sql) {
  SqlScratch scratch(Folder("tmp"));
  WF_TRY(datasets_.CopyNamed(tenant, sql, scratch.path()));
  return RunSandboxedSql(options_.sql_program, scratch.path(), sql);
}

}  // namespace wf::store::duckdb
