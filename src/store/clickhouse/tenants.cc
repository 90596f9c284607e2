// Whose data is here. Tables of events and of small things hold rows of all tenants: their bytes are shared out by
// events.
#include <fmt/format.h>

#include <map>

#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/store_impl.h"

namespace wf::store::clickhouse {

Result<std::vector<TenantUse>> ClickhouseStore::ReadTenants() {
  std::map<std::string, TenantUse> uses;
  const auto use = [&](const std::string& tenant) -> TenantUse& {
    TenantUse& entry = uses[tenant];
    entry.tenant = tenant;
    return entry;
  };
  WF_ASSIGN(const std::string counted,
            client_.AskAny("counting events of tenants",
                           fmt::format("SELECT tenant, toInt64(count()) FROM {} GROUP BY tenant "
                                       "FORMAT RowBinary",
                                       names_.All("events"))));
  int64_t events = 0;
  clickhouse::RowReader reader(counted);
  while (reader.more()) {
    TenantUse& entry = use(std::string(reader.Text()));
    entry.events = reader.Number<int64_t>();
    events += entry.events;
  }
  WF_TRY(reader.status());
  WF_ASSIGN(const auto datasets, datasets_->BytesByTenant());
  WF_ASSIGN(int64_t shared, ReadDiskBytes());
  for (const auto& [tenant, bytes] : datasets) {
    use(tenant).bytes = bytes;
    shared -= bytes;
  }
  for (auto& [tenant, entry] : uses) {
    if (events != 0)
      entry.bytes +=
          static_cast<int64_t>(static_cast<double>(shared) * static_cast<double>(entry.events) /
                               static_cast<double>(events));
  }
  for (const char* table : {"documents", "messages", "attachments"}) {
    WF_ASSIGN(const std::string answer,
              client_.AskAny("listing tenants",
                             fmt::format("SELECT DISTINCT tenant FROM {} FORMAT RowBinary",
                                         names_.All(table))));
    clickhouse::RowReader tenants(answer);
    while (tenants.more()) use(std::string(tenants.Text()));
    WF_TRY(tenants.status());
  }
  std::vector<TenantUse> out;
  for (auto& [tenant, entry] : uses) out.push_back(std::move(entry));
  return out;
}

}  // namespace wf::store::clickhouse
