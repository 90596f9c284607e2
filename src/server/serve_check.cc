#include "server/serve_check.h"

#include "security/authorize.h"
#include "server/open_bus.h"
#include "server/security.h"
#include "server/server_listeners.h"
#include "store/open/open_store.h"

namespace wf::server {
namespace {

// Which stores and buses a role can work with. Every combination that is refused would lose something silently: events
// that nobody reads, or rows that nobody sees.
Status CheckRole(const ServeOptions& options) {
  const cluster::RoleParts parts = cluster::PartsOf(options.role);
  const std::string role = "--role " + std::string(cluster::RoleName(options.role));
  const bool shared = store::PlaceOf(options.store) == store::StorePlace::kDatabase;
  if (!options.bus.empty()) WF_TRY(CheckBusUrl(options.bus));
  if (parts.tails && !options.tailer && !options.bus.empty()) {
    return BadInput(role + ": with --tailer off nothing would read the bus",
                    "leave one of them out");
  }
  if (options.role == cluster::Role::kAll) return {};
  if (BusIsInProcess(options.bus) && options.role != cluster::Role::kQuery) {
    return BadInput("--bus " + options.bus + ": only this process can read it, but " + role +
                        " needs others to",
                    "give kafka://HOST:PORT, or --role all");
  }
  if (parts.tails && options.bus.empty()) {
    return BadInput(role + ": needs a bus to read from",
                    "give --bus kafka://HOST:PORT, or --role all for a single process");
  }
  if (parts.receives && options.bus.empty() && shared) {
    return BadInput(
        role + ": without a bus no tailer would process what is received",
        "give --bus kafka://HOST:PORT; or --role all for a single process over this store");
  }
  if (!options.bus.empty() && !shared && options.role != cluster::Role::kQuery) {
    return BadInput(
        role + ": --store " + options.store + " is a directory, which only one process can open",
        "give --store clickhouse://HOST:PORT/DATABASE, or --role all");
  }
  return {};
}

}  // namespace

Status CheckServeOptions(const ServeOptions& options) {
  WF_TRY(CheckListeners(options));
  if (options.max_request_bytes > options.max_inflight_bytes) {
    return BadInput("--max-request-bytes is larger than --max-inflight-bytes",
                    "such a request could never be accepted: raise --max-inflight-bytes");
  }
  for (const std::string& origin : options.events_origins)
    WF_TRY(security::CheckEventsOrigin(origin));
  WF_TRY(store::CheckStorePlace(options.store));
  const store::StorePlace place = store::PlaceOf(options.store);
  if (place == store::StorePlace::kServer) {
    return BadInput("--store: " + options.store + " is a server's address",
                    "give the directory that holds the data, or clickhouse://HOST:PORT/DATABASE");
  }
  if (place == store::StorePlace::kDatabase && options.state.empty()) {
    return BadInput("--state is missing", "give a directory for this process alone");
  }
  WF_TRY(CheckRole(options));
  return CheckSecurity(options);
}

}  // namespace wf::server
