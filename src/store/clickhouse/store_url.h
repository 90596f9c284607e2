// Where a ClickHouse store is:
//
//   clickhouse://[user[:password]@]host:port[,host:port…]/DATABASE[?cluster=NAME][&secure=1][&compression=gzip]
//
// Every shard's HTTP address is listed; the order does not matter. `cluster` is the name under which each server's
// remote_servers lists the same shards; it is needed for more than one. User and password may be percent-encoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace wf::store::clickhouse {

struct ShardAddress {
  std::string host;  // no brackets
  uint16_t port = 0;
  std::string text() const;  // "host:port"
};

struct StoreUrl {
  // Sorted by text: a trace's shard does not depend on the order given.
  std::vector<ShardAddress> shards;
  std::string user = "default", password;
  std::string database;  // letters, digits and _
  std::string cluster;   // the same
  bool secure = false;   // HTTPS
  bool compress = false;

  // For messages and logs: without the password.
  std::string display() const;
};

// Errors never repeat the text, which may hold a password.
Result<StoreUrl> ParseStoreUrl(std::string_view text);

}  // namespace wf::store::clickhouse
