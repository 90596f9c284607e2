#include "store/clickhouse/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "store/clickhouse/sql_text.h"

namespace wf::store::clickhouse {
namespace {

// Which versions of the schema a database has been brought to. The highest counts.
const TableSpec& VersionTable() {
  static const TableSpec table = {"schema_version",
                                  {{"version", "UInt32"}, {"written", "DateTime"}},
                                  "MergeTree ORDER BY version"};
  return table;
}

// Of the home shard: how many shards there have been. Since version 2.
const TableSpec& ShardCountsTable() {
  static const TableSpec table = {
      "shard_counts", {{"shards", "UInt32"}, {"written", "DateTime"}}, "MergeTree ORDER BY shards"};
  return table;
}

std::vector<const TableSpec*> AllTables() {
  std::vector<const TableSpec*> out;
  for (const auto* list : {&EventTables(), &RowTables()})
    for (const TableSpec& table : *list) out.push_back(&table);
  return out;
}

std::string CreateViewSql(const TableNames& names, const ViewSpec& view) {
  std::string select;
  for (size_t at = 0; at < view.select.size();) {
    const size_t open = view.select.find('{', at);
    select += view.select.substr(at, open - at);
    if (open == std::string::npos) break;
    const size_t close = view.select.find('}', open);
    select += names.Local(view.select.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return fmt::format("CREATE MATERIALIZED VIEW IF NOT EXISTS {} TO {} AS {}",
                     names.Local(view.name), names.Local(view.table), select);
}

// Numbers of one row of a TSV answer.
std::vector<int64_t> Numbers(std::string_view text) {
  std::vector<int64_t> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int64_t value = 0;
    const auto [next, failed] = std::from_chars(at, end, value);
    if (failed != std::errc()) break;
    out.push_back(value);
    at = next + 1;
  }
  return out;
}

struct Found {
  bool versioned = false;
  int64_t distributed = 0;
};

Result<Found> LookAt(Client& client, size_t shard) {
  std::vector<std::string> distributed;
  for (const TableSpec* table : AllTables()) distributed.push_back(table->name + "_all");
  WF_ASSIGN(const std::string text,
            client.Ask(shard, "looking for its tables",
                       fmt::format("SELECT countIf(name = '{}'), countIf(name IN {}) "
                                   "FROM system.tables WHERE database = {}",
                                   VersionTable().name, QuoteList(distributed),
                                   Quote(client.url().database))));
  const std::vector<int64_t> counts = Numbers(text);
  Found found;
  if (counts.size() == 2) found = {counts[0] != 0, counts[1]};
  return found;
}

Status CheckCluster(Client& client, size_t shard) {
  const StoreUrl& url = client.url();
  WF_ASSIGN(const std::string text,
            client.Ask(shard, "looking for its cluster",
                       fmt::format("SELECT uniqExact(shard_num) FROM system.clusters "
                                   "WHERE cluster = {}",
                                   Quote(url.cluster))));
  const std::vector<int64_t> counts = Numbers(text);
  const int64_t listed = counts.empty() ? 0 : counts[0];
  if (listed == static_cast<int64_t>(url.shards.size())) return {};
  return EnvironmentError(
      listed == 0
          ? fmt::format("ClickHouse {}: it knows no cluster {}", url.shards[shard].text(),
                        url.cluster)
          : fmt::format("ClickHouse {}: its cluster {} has {} shards, the store's address {}",
                        url.shards[shard].text(), url.cluster, listed, url.shards.size()),
      "list the same shards in remote_servers of every server and in the store's address");
}

// Version 1: everything. Later versions are steps of their own, so that a database of any age can follow.
Status MakeTables(Client& client, size_t shard, const ServerFeatures& features) {
  const TableNames names(client.url());
  const auto run = [&](const std::string& name, const std::string& sql) {
    return client.Run(shard, "making the table " + name, sql);
  };
  for (const TableSpec* table : AllTables())
    WF_TRY(run(table->name, CreateTableSql(names, *table, features)));
  for (const ViewSpec& view : EventViews()) WF_TRY(run(view.name, CreateViewSql(names, view)));
  return {};
}

Status MakeDistributed(Client& client, size_t shard) {
  const TableNames names(client.url());
  for (const TableSpec* table : AllTables()) {
    WF_TRY(client.Run(shard, "making the table " + table->name + "_all",
                      CreateDistributedSql(names, client.url(), table->name)));
  }
  return {};
}

Status PrepareShard(Client& client, size_t shard, const ServerFeatures& features) {
  const TableNames names(client.url());
  WF_ASSIGN(const Found found, LookAt(client, shard));
  int64_t version = 0;
  if (found.versioned) {
    WF_ASSIGN(const std::string text, client.Ask(shard, "reading its schema's version",
                                                 fmt::format("SELECT max(version) FROM {}",
                                                             names.Local(VersionTable().name))));
    const std::vector<int64_t> numbers = Numbers(text);
    if (!numbers.empty()) version = numbers[0];
  }
  if (version > kSchemaVersion) {
    return EnvironmentError(
        fmt::format("ClickHouse {}: database {} has tables of version {}, this program knows {}",
                    client.url().shards[shard].text(), client.url().database, version,
                    kSchemaVersion),
        "use the newer program, or another database");
  }
  if (version < 1) WF_TRY(MakeTables(client, shard, features));
  if (version < 2) {
    WF_TRY(client.Run(shard, "making the table shard_counts",
                      CreateTableSql(names, ShardCountsTable(), features)));
  }
  if (client.shards() > 1 && found.distributed < static_cast<int64_t>(AllTables().size())) {
    WF_TRY(CheckCluster(client, shard));
    WF_TRY(MakeDistributed(client, shard));
  }
  if (version == kSchemaVersion) return {};
  // Written last: whoever finds it finds everything. Twice does no harm.
  WF_TRY(client.Run(shard, "making the table schema_version",
                    CreateTableSql(names, VersionTable(), features)));
  return client.Run(shard, "writing its schema's version",
                    fmt::format("INSERT INTO {} SELECT {}, now()", names.Local(VersionTable().name),
                                kSchemaVersion));
}

}  // namespace

Result<std::set<size_t>> ReadShardCounts(Client& client) {
  const TableNames names(client.url());
  WF_ASSIGN(const std::string text,
            client.Ask(kHomeShard, "asking how many shards there were",
                       fmt::format("SELECT DISTINCT shards FROM {} ORDER BY shards",
                                   names.Local(ShardCountsTable().name))));
  const std::vector<int64_t> counts = Numbers(text);
  const std::set<size_t> out(counts.begin(), counts.end());
  if (out.empty() || *out.rbegin() <= client.shards()) return out;
  return BadInput(
      fmt::format("database {}: its rows lie on {} shards, the store's address names {}",
                  client.url().database, *out.rbegin(), client.shards()),
      "name all of them, in their old order, new ones at the end");
}

Status CheckClusters(Client& client) {
  if (client.shards() == 1) return {};
  for (size_t shard = 0; shard < client.shards(); ++shard) WF_TRY(CheckCluster(client, shard));
  return {};
}

Status AddShardCount(Client& client) {
  const TableNames names(client.url());
  return client.Run(kHomeShard, "noting how many shards there are",
                    fmt::format("INSERT INTO {} SELECT {}, now()",
                                names.Local(ShardCountsTable().name), client.shards()));
}

std::string CreateTableSql(const TableNames& names, const TableSpec& table,
                           const ServerFeatures& features) {
  std::string columns;
  for (const ColumnSpec& column : table.columns) {
    if (!columns.empty()) columns += ", ";
    columns += QuoteName(column.name) + " " + column.type;
    if (features.codecs && !column.codec.empty()) columns += " CODEC(" + column.codec + ")";
  }
  if (features.skip_indexes)
    for (const std::string& index : table.indexes) columns += ", INDEX " + index;
  return fmt::format("CREATE TABLE IF NOT EXISTS {} ({}) ENGINE = {}{}", names.Local(table.name),
                     columns, table.engine,
                     table.settings.empty() ? "" : " SETTINGS " + table.settings);
}

std::string CreateDistributedSql(const TableNames& names, const StoreUrl& url,
                                 std::string_view table) {
  return fmt::format("CREATE TABLE IF NOT EXISTS {} AS {} ENGINE = Distributed({}, {}, {})",
                     names.All(table), names.Local(table), url.cluster, url.database, table);
}

Result<ServerFeatures> PrepareSchema(Client& client) {
  ServerFeatures features;
  for (size_t shard = 0; shard < client.shards(); ++shard) {
    WF_ASSIGN(ServerVersion version, client.ReadVersion(shard));
    if (!version.AtLeast(18, 16)) {
      return EnvironmentError(fmt::format("ClickHouse {}: it is of version {}",
                                          client.url().shards[shard].text(), version.text),
                              "18.16 is the oldest that is supported");
    }
    if (shard == 0 || !version.AtLeast(features.version.major, features.version.minor))
      features.version = std::move(version);
  }
  // Column codecs and skip indexes left their experimental state in 19.x and 20.1.
  features.codecs = features.skip_indexes = features.version.AtLeast(20, 1);
  features.ttl = features.version.AtLeast(21, 1);  // that can be taken back
  for (size_t shard = 0; shard < client.shards(); ++shard) WF_TRY(client.MakeDatabase(shard));
  for (size_t shard = 0; shard < client.shards(); ++shard)
    WF_TRY(PrepareShard(client, shard, features));
  return features;
}

}  // namespace wf::store::clickhouse
