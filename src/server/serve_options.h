// What `wherefore serve` can be told: every field is a flag, a WHEREFORE_ variable and a key of the config file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "cluster/role.h"
#include "import/decode/attribute_rules.h"
#include "pipeline/pipeline.h"

namespace wf::server {

struct ServeOptions {
  cluster::Role role = cluster::Role::kAll;
  std::string store;  // a directory, or the URL of a database (store/open/open_store.h)
  // Of a database; empty: as the URL says, and the system's.
  std::string store_password_file, store_ca;
  std::string bus;  // URL (server/open_bus.h); empty: what is received goes to the store directly
  std::string bus_config;  // a file of the bus's properties, which may be secret; empty: none
  std::string state;       // what this process keeps on disk when the store is no directory
  std::string http = "8642";
  std::string otlp_grpc = "4317";
  std::string otlp_http = "4318";
  std::string zipkin = "9411";
  std::string jaeger = "14268";
  std::string int_reports = "off";     // INT telemetry reports, UDP
  int64_t int_keep_bytes = 256 << 20;  // of received reports
  bool sync = true;                    // one fdatasync per group of batches
  std::optional<Nanos> retention_age_ns;
  std::optional<int64_t> retention_bytes;
  int64_t max_request_bytes = 64 << 20;          // decoded
  int64_t max_inflight_bytes = 128 << 20;        // of all requests under way
  std::string tls_cert, tls_key, tls_client_ca;  // PEM files; empty: plain
  // File (security/accounts.h); empty: who reaches a listener may read and write.
  std::string accounts;
  // File, or off; empty: audit.jsonl in the directory that is this process's own.
  std::string audit_log;
  bool allow_anonymous = false;  // listeners beyond loopback may be reached by anybody
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> events_origins;  // of other sites' pages that may send events
  std::vector<decode::AttributeRule> attribute_rules;
  bool tailer = true;  // off: rows of datasets come by `dataset backfill` and import only
  pipeline::TailerOptions tailer_options;
  // Between "not ready" and "not accepting" when told to stop: whoever sends us traffic looks away in the meantime.
  Nanos drain_delay = 0;
  double self_trace = 0;  // share of our own requests and rounds that are traced; 0: off
  bool agent = true;      // weaves live queries into the processes of this host, if it may
};

}  // namespace wf::server
