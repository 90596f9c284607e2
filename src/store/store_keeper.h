// StoreKeeper: a store as a whole: what it can do, how much it holds, for how long.
// Thread safety: all calls, from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"

namespace wf::store {

// What one engine can do and another cannot.
struct StoreTraits {
  // Other processes may have it open at the same time, and see and change what is in it.
  bool shared = false;
  // RunSql works. Where it does not, it is kBadInput.
  bool sql = true;
};

// An engine's facts for `status` and /metrics.
struct StoreStatus {
  int64_t spans = 0;   // distinct events of type span
  int64_t events = 0;  // distinct events of all types
  int64_t traces = 0;
  int64_t disk_bytes = 0;
  int64_t pending_rows = 0;  // acknowledged, not yet in a part
  int64_t messages = 0, attachments = 0;
  Nanos oldest_ns = 0, newest_ns = 0;
  int64_t dataset_rows = 0, dataset_bytes = 0;  // of all datasets; the bytes are part of disk_bytes
  std::map<std::string, int64_t> counters;      // named: doubles removed, rows retired, ...
};

// What is kept of a tenant, about.
struct TenantUse {
  std::string tenant;
  int64_t events = 0;  // doubles may count twice
  int64_t bytes = 0;
};

struct RetentionPolicy {
  std::optional<Nanos> max_age_ns;   // counts from receipt
  std::optional<int64_t> max_bytes;  // of the directory
};

class StoreKeeper {
 public:
  virtual ~StoreKeeper() = default;

  virtual StoreTraits Traits() const = 0;
  virtual Result<StoreStatus> ReadStatus(const std::string& tenant) = 0;
  // Everybody of whom there is anything, by name. This one knows of "default" alone, for engines that cannot tell.
  virtual Result<std::vector<TenantUse>> ReadTenants();
  // Writes what waits in memory into a part; merges small parts.
  virtual Status Flush() = 0;
  virtual Status Retain(const RetentionPolicy& policy) = 0;
};

}  // namespace wf::store
