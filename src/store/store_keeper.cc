#include "store/store_keeper.h"

namespace wf::store {

Result<std::vector<TenantUse>> StoreKeeper::ReadTenants() {
  return std::vector<TenantUse>{{"default", 0, 0}};
}

}  // namespace wf::store
