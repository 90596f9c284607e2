// The tables of a ClickHouse store, as data, and how they come to be on every shard.
//
// Each table lies on every shard under its name; where there are several shards, NAME_all is the Distributed table over
// all of them, for reading. Inserts go to a shard's own table. Views fill tables that answer other questions of the
// same rows as these are inserted.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/client.h"

namespace wf::store::clickhouse {

struct ColumnSpec {
  std::string name, type;
  std::string codec = {};  // for servers that have codecs: "Delta, ZSTD(1)"
};

struct TableSpec {
  std::string name;
  std::vector<ColumnSpec> columns;
  std::string engine;  // "ReplacingMergeTree PARTITION BY day ORDER BY (…)"
  // For servers that have skip indexes: "i x TYPE minmax GRANULARITY 1".
  std::vector<std::string> indexes = {};
  std::string settings = {};  // of the engine
};

struct ViewSpec {
  std::string name, table;  // the one it fills
  std::string select;       // "SELECT … FROM {events}": names in braces are tables
};

// Of events (event_tables.cc).
const std::vector<TableSpec>& EventTables();
const std::vector<ViewSpec>& EventViews();
// Of rows of datasets, documents, messages, attachments and clocks (row_tables.cc).
const std::vector<TableSpec>& RowTables();

// The names of a store's tables in SQL: always with their database, because a query that a Distributed table sends on
// runs in another one.
class TableNames {
 public:
  explicit TableNames(const StoreUrl& url)
      : database_(url.database), several_(url.shards.size() > 1) {}
  // On the shard that is asked; in subqueries of a Distributed query, on each shard.
  std::string Local(std::string_view table) const { return database_ + "." + std::string(table); }
  // Over all shards.
  std::string All(std::string_view table) const { return Local(table) + (several_ ? "_all" : ""); }

 private:
  std::string database_;
  bool several_;
};

// What a server has beyond 18.16.
struct ServerFeatures {
  ServerVersion version;  // the oldest of the shards'
  bool codecs = false, skip_indexes = false, ttl = false;
};

// CREATE TABLE IF NOT EXISTS, and the Distributed table of a table. rows of datasets have tables of their own, made
// later.
std::string CreateTableSql(const TableNames& names, const TableSpec& table,
                           const ServerFeatures& features);
std::string CreateDistributedSql(const TableNames& names, const StoreUrl& url,
                                 std::string_view table);

constexpr int kSchemaVersion = 2;

// Makes the database and its tables where they are missing, and brings older ones to kSchemaVersion. Safe while other
// processes do the same.
Result<ServerFeatures> PrepareSchema(Client& client);

// How many shards this store has been spread over, so far. More can come, at the end of the address; with fewer than there
// were, what lies on the others would not be found.
Result<std::set<size_t>> ReadShardCounts(Client& client);
// Every server lists as many shards as the address: asked when one has come.
Status CheckClusters(Client& client);
Status AddShardCount(Client& client);

}  // namespace wf::store::clickhouse
