// The distributed store: events and rows of datasets in ClickHouse, over its HTTP interface, for any number of
// processes at once. Nothing is kept in this process but batches on their way.
//
// Append → sender threads (group, split by shard, one insert a shard) → `done` when every shard has acknowledged. What
// an interrupted or repeated insert leaves twice, reads remove and merges throw away. docs/use/clickhouse.md tells what
// lies where.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "store/store.h"

namespace wf::store::clickhouse {

struct ClickhouseStoreOptions {
  // Instead of the URL's: for secrets that come from a file or the environment.
  std::string password;
  std::string ca_file;  // PEM, for ?secure=1; empty: the system's roots
  // Batches waiting to be sent; beyond this Append answers kOverloaded.
  size_t max_queue_bytes = 64u << 20;
  // One insert: ClickHouse writes one part for each, and merges them later. Fewer and larger is cheaper there.
  size_t max_insert_rows = 100'000;
  size_t max_insert_bytes = 32u << 20;  // of a group of batches in memory
  // In the long run so many inserts a second; a burst may be larger. Under load, groups then grow instead.
  double inserts_per_second = 8;
  double insert_burst = 64;
  int senders = 2;
  // A tenant with so many traces is searched from its newest backwards; with fewer, all at once, in milliseconds.
  int64_t many_traces = 500'000;
  Nanos connect_timeout = 5 * kSecond;
  Nanos timeout = 60 * kSecond;  // of one request, without progress
  // Requests that meet a dead or overloaded shard are tried again for so long.
  Nanos retry_for = 20 * kSecond;
  Nanos open_patience = 20 * kSecond;  // those of opening it
};

bool IsClickhouseUrl(std::string_view text);  // by its scheme

// clickhouse://[user[:password]@]host:port[,host:port…]/DATABASE[?cluster=NAME]: store_url.h. Makes the database and
// its tables on every shard, or brings them to this program's version. Fails when a shard cannot be reached, when
// the tables are of a newer program, or when the cluster does not list the shards.
Result<std::unique_ptr<Store>> OpenClickhouseStore(const std::string& url,
                                                   const ClickhouseStoreOptions& options = {});

}  // namespace wf::store::clickhouse
