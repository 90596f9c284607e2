// Saved texts: one table in state.duckdb. They are few and small, so a put is a delete and an insert.
#include <fmt/format.h>

#include <mutex>
#include <shared_mutex>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {

Status DuckdbStore::PutDocument(const std::string& tenant, const std::string& kind,
                                const std::string& name, std::string_view text) {
  WF_TRY(OpenSideTables(SideTables::kMake));
  WF_ASSIGN(auto connection, Borrow());
  std::lock_guard lock(side_mutex_);
  const std::vector<duck::Param> key = {std::string_view(tenant), std::string_view(kind),
                                        std::string_view(name)};
  WF_TRY(connection->Run("BEGIN"));
  const auto put = [&]() -> Status {
    WF_TRY(connection->Query(
        "DELETE FROM state.documents WHERE tenant = ? AND kind = ? AND name = ?", key));
    WF_TRY(connection->Query("INSERT INTO state.documents VALUES (?, ?, ?, ?, ?)",
                             {key[0], key[1], key[2], text, Now()}));
    return connection->Run("COMMIT");
  };
  const Status status = put();
  if (!status.ok()) (void)connection->Run("ROLLBACK");
  return status;
}

Result<std::vector<Document>> DuckdbStore::ReadDocuments(const std::string& tenant,
                                                         const std::string& kind) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::vector<Document> out;
  std::shared_lock lock(side_mutex_);
  if (!side_open_) return out;
  WF_ASSIGN(auto connection, Borrow());
  WF_ASSIGN(auto rows, connection->Query("SELECT name, content, written_ns FROM state.documents "
                                         "WHERE tenant = ? AND kind = ? ORDER BY name",
                                         {std::string_view(tenant), std::string_view(kind)}));
  while (duck::Chunk chunk = rows.Next()) {
    for (size_t i = 0; i < chunk.size(); ++i)
      out.push_back({std::string(chunk.Text(0, i)), std::string(chunk.Text(1, i)),
                     chunk.Column<int64_t>(2)[i]});
  }
  return out;
}

Status DuckdbStore::DeleteDocument(const std::string& tenant, const std::string& kind,
                                   const std::string& name) {
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  int64_t deleted = 0;
  std::lock_guard lock(side_mutex_);
  if (side_open_) {
    WF_ASSIGN(auto connection, Borrow());
    WF_ASSIGN(auto result,
              connection->Query(
                  "DELETE FROM state.documents WHERE tenant = ? AND kind = ? AND name = ?",
                  {std::string_view(tenant), std::string_view(kind), std::string_view(name)}));
    deleted = result.rows_changed();
  }
  if (deleted == 0)
    return NotFound(fmt::format("{} {}: not in this store", kind, name), "list what is there");
  return {};
}

}  // namespace wf::store::duckdb
