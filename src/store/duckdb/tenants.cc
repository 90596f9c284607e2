// Whose data is here. A part may hold segments of several tenants: its bytes are shared out by rows.
#include <map>
#include <shared_mutex>

#include "store/duckdb/store_impl.h"

namespace wf::store::duckdb {

Result<std::vector<TenantUse>> DuckdbStore::ReadTenants() {
  std::map<std::string, TenantUse> uses;
  const auto use = [&](const std::string& tenant) -> TenantUse& {
    TenantUse& entry = uses[tenant];
    entry.tenant = tenant;
    return entry;
  };
  SegmentList segments;
  {
    const std::lock_guard lock(mutex_);
    segments = segments_;
    for (const auto& pending : {filling_, writing_}) {
      if (pending == nullptr) continue;
      for (const auto& batch : pending->batches) {
        use(batch->tenant).events += static_cast<int64_t>(batch->size());
        use(batch->tenant).bytes += static_cast<int64_t>(batch->MemoryBytes());
      }
    }
  }
  std::map<const Part*, double> rows;
  for (const auto& segment : segments)
    rows[segment->part.get()] += static_cast<double>(segment->rows);
  std::map<const Part*, double> bytes;
  for (const auto& [part, count] : rows) bytes[part] = static_cast<double>(part->Bytes());
  for (const auto& segment : segments) {
    TenantUse& entry = use(segment->tenant);
    const Part* part = segment->part.get();
    entry.events += static_cast<int64_t>(segment->rows);
    entry.bytes +=
        static_cast<int64_t>(bytes[part] * static_cast<double>(segment->rows) / rows[part]);
  }
  WF_ASSIGN(const auto datasets, datasets_.BytesByTenant());
  for (const auto& [tenant, size] : datasets) use(tenant).bytes += size;
  WF_TRY(OpenSideTables(SideTables::kIfThere));
  std::shared_lock lock(side_mutex_);
  if (side_open_) {
    WF_ASSIGN(auto connection, Borrow());
    for (const char* table : {"documents", "messages", "attachments"}) {
      WF_ASSIGN(auto found,
                connection->Query(std::string("SELECT DISTINCT tenant FROM state.") + table));
      while (duck::Chunk chunk = found.Next())
        for (size_t i = 0; i < chunk.size(); ++i) use(std::string(chunk.Text(0, i)));
    }
  }
  std::vector<TenantUse> out;
  for (auto& [name, entry] : uses) out.push_back(std::move(entry));
  return out;
}

}  // namespace wf::store::duckdb
