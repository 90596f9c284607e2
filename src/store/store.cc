#include "store/store.h"

#include <future>

namespace wf {

Status Store::AppendAndWait(EventBatch batch) {
  std::promise<Status> durable;
  Append(std::move(batch), [&](Status status) { durable.set_value(std::move(status)); });
  return durable.get_future().get();
}

Result<std::vector<TenantUse>> Store::ReadTenants() {
  return std::vector<TenantUse>{{"default", 0, 0}};
}

}  // namespace wf
