// Tables of everything that is no event. Rows of datasets have tables of their own (dataset_table.h); here is what tells
// which of them count, and the small things.
//
// Where several versions of one thing can lie, the one with the greatest `written` counts; merges throw the others away.
// `written` is a time in nanoseconds that never goes back: writers look at what is there and take the later of now and
// one more than that, so that a clock that jumps back cannot make an old version win.
#include "store/clickhouse/schema.h"

namespace wf::store::clickhouse {

const std::vector<TableSpec>& RowTables() {
  static const std::vector<TableSpec> tables = {
      // dataset_log.h. All records lie on the home shard (client.h).
      {"dataset_log",
       {{"tenant", "String"},
        {"dataset", "String"},
        {"generation", "UInt64"},
        {"kind", "UInt8"},
        {"process", "UInt64"},
        {"name", "String"},
        {"version", "UInt32"},
        {"type", "UInt8"},
        {"number", "Int64"},
        {"written", "UInt64"}},
       "ReplacingMergeTree(written) ORDER BY (tenant, dataset, generation, kind, process, name, "
       "version, type)"},
      // On the home shard.
      {"documents",
       {{"tenant", "String"},
        {"kind", "String"},
        {"name", "String"},
        {"content", "String", "ZSTD(1)"},
        {"deleted", "UInt8"},
        {"written", "UInt64"}},
       "ReplacingMergeTree(written) ORDER BY (tenant, kind, name)"},
      // By the message's hash over all shards.
      {"messages",
       {{"tenant", "String"},
        {"time_ns", "Int64", "Delta, ZSTD(1)"},
        {"hash_hi", "UInt64"},
        {"hash_lo", "UInt64"},
        {"kind", "String"},
        {"sender", "String"},
        {"receiver", "String"},
        {"id", "String"},
        {"keys", "String"},
        {"received_ns", "Int64", "Delta, ZSTD(1)"}},
       "ReplacingMergeTree ORDER BY (tenant, time_ns, hash_hi, hash_lo)"},
      // On the trace's shard. Place 0 is the attachment itself and is written last; 1… are its chunks.
      {"attachments",
       {{"tenant", "String"},
        {"trace_hi", "UInt64"},
        {"trace_lo", "UInt64"},
        {"kind", "String"},
        {"hash_hi", "UInt64"},
        {"hash_lo", "UInt64"},
        {"place", "UInt32"},
        {"chunk", "String"},
        {"received_ns", "Int64"}},
       "ReplacingMergeTree ORDER BY (tenant, trace_hi, trace_lo, hash_hi, hash_lo, place)",
       {},
       "index_granularity = 64"},  // chunks are large
      // All clocks of a tenant lie on one shard, so that a set of them is replaced by one insert.
      {"clocks",
       {{"tenant", "String"},
        {"host", "String"},
        {"from_ns", "Int64"},
        {"offset_ns", "Int64"},
        {"error_ns", "Int64"},
        {"deleted", "UInt8"},
        {"written", "UInt64"}},
       "ReplacingMergeTree(written) ORDER BY (tenant, host, from_ns)"},
  };
  return tables;
}

}  // namespace wf::store::clickhouse
