// The tables of events. docs/use/clickhouse.md says what each answers.
//
// `day` is that of the receipt, in days since 1970: whole days are dropped by retention. Rows that are doubles of each
// other agree in the whole sorting key; merges keep the one received first (the greatest `precedence`).
#include "store/clickhouse/schema.h"

namespace wf::store::clickhouse {

const std::vector<TableSpec>& EventTables() {
  static const std::vector<TableSpec> tables = {
      // One row an event, by trace.
      {"events",
       {{"tenant", "String", "ZSTD(1)"},
        {"day", "UInt16", "ZSTD(1)"},
        {"trace_hi", "UInt64", "ZSTD(1)"},
        {"trace_lo", "UInt64", "ZSTD(1)"},
        {"start_ns", "Int64", "Delta, ZSTD(1)"},
        {"id1", "UInt64", "ZSTD(1)"},
        {"content_hi", "UInt64", "NONE"},
        {"content_lo", "UInt64", "NONE"},
        {"received_ns", "Int64", "Delta, ZSTD(1)"},
        {"precedence", "UInt64", "Delta, ZSTD(1)"},  // greater for an earlier receipt
        {"id2", "UInt64", "ZSTD(1)"},
        {"end_ns", "Int64", "Delta, ZSTD(1)"},   // as received
        {"ends_ns", "Int64", "Delta, ZSTD(1)"},  // repaired: match.h
        {"type", "UInt8"},
        {"kind", "UInt8"},
        {"status", "UInt8"},
        {"parent_ref", "UInt8"},
        {"marks", "UInt8"},
        {"source", "UInt8"},
        {"length_class", "UInt8"},
        {"probability", "Float32", "ZSTD(1)"},
        {"sequence", "Int64", "ZSTD(1)"},
        {"flags", "UInt32", "ZSTD(1)"},
        {"service", "String", "ZSTD(1)"},
        {"host", "String", "ZSTD(1)"},
        {"name", "String", "ZSTD(1)"},
        {"status_message", "String", "ZSTD(1)"},
        {"tracestate", "String", "ZSTD(1)"},
        {"process", "UInt64", "ZSTD(1)"},  // ids of origins
        {"scope", "UInt64", "ZSTD(1)"},
        {"attr_keys", "Array(String)", "ZSTD(1)"},
        {"attr_texts", "Array(String)", "ZSTD(1)"},
        {"attr_types", "Array(UInt8)", "ZSTD(1)"},
        {"attr_rest", "Array(String)", "ZSTD(1)"},  // of values that their text does not tell
        {"point_names", "Array(String)", "ZSTD(1)"},
        {"points", "String", "ZSTD(1)"},
        {"links", "String", "ZSTD(1)"},
        {"resources", "Array(String)", "ZSTD(1)"},
        {"bytes", "UInt32", "ZSTD(1)"}},  // of this row
       "ReplacingMergeTree(precedence) PARTITION BY day PRIMARY KEY (tenant, trace_hi, trace_lo) "
       "ORDER BY (tenant, trace_hi, trace_lo, start_ns, id1, content_hi, content_lo)",
       {"start_range start_ns TYPE minmax GRANULARITY 1",
        "end_range ends_ns TYPE minmax GRANULARITY 1",
        "services service TYPE set(256) GRANULARITY 4",
        "names name TYPE bloom_filter GRANULARITY 4",
        "texts attr_texts TYPE bloom_filter GRANULARITY 2"},
       // Smaller than usual: most reads are of single traces, which need one granule of each part.
       "index_granularity = 2048"},
      // Processes and scopes, by a hash of what they hold. Written before the events of the same day that name them.
      {"origins",
       {{"tenant", "String"},
        {"day", "UInt16"},
        {"id", "UInt64"},
        {"kind", "UInt8"},     // 0: process; 1: scope
        {"title", "String"},   // service; the scope's name
        {"detail", "String"},  // host; the scope's version
        {"attr_keys", "Array(String)", "ZSTD(1)"},
        {"attr_texts", "Array(String)", "ZSTD(1)"},
        {"attr_types", "Array(UInt8)"},
        {"attr_rest", "Array(String)", "ZSTD(1)"}},
       "ReplacingMergeTree PARTITION BY day ORDER BY (tenant, id)"},
      // One row for each trace of an insert, by time: search.
      {"pieces",
       {{"tenant", "String", "ZSTD(1)"},
        {"day", "UInt16"},
        {"first_ns", "Int64", "Delta, ZSTD(1)"},
        {"trace_hi", "UInt64"},
        {"trace_lo", "UInt64"},
        {"last_ns", "Int64", "Delta, ZSTD(1)"},    // the latest end
        {"latest_ns", "Int64", "Delta, ZSTD(1)"},  // the latest start
        {"newest_ns", "Int64", "Delta, ZSTD(1)"},  // the latest receipt
        {"failed", "UInt8"},                       // has a span of status error
        {"services", "Array(String)", "ZSTD(1)"},
        {"names", "Array(String)", "ZSTD(1)"},
        {"hosts", "Array(String)", "ZSTD(1)"}},
       "ReplacingMergeTree PARTITION BY day ORDER BY (tenant, first_ns, trace_hi, trace_lo, "
       "last_ns, latest_ns)"},
      // One row for each resource of an event: what ran on R during [t0, t1]. Intervals of about one length stand
      // together in the order of their start, so that those which overlap a range are a range too.
      {"resource_events",
       {{"tenant", "String", "ZSTD(1)"},
        {"day", "UInt16"},
        {"resource", "String", "ZSTD(1)"},
        {"length_class", "UInt8"},
        {"start_ns", "Int64", "Delta, ZSTD(1)"},
        {"trace_hi", "UInt64"},
        {"trace_lo", "UInt64"},
        {"id1", "UInt64"},
        {"content_hi", "UInt64"},
        {"content_lo", "UInt64"},
        {"ends_ns", "Int64", "Delta, ZSTD(1)"},
        {"received_ns", "Int64", "Delta, ZSTD(1)"},
        {"also", "Array(String)", "ZSTD(1)"}},  // all resources of the event
       "ReplacingMergeTree PARTITION BY day PRIMARY KEY (tenant, resource, length_class, start_ns) "
       "ORDER BY (tenant, resource, length_class, start_ns, trace_hi, trace_lo, id1, content_hi, "
       "content_lo)"},
      // What there is to ask for.
      {"operations",
       {{"tenant", "String"},
        {"day", "UInt16"},
        {"service", "String"},
        {"name", "String"},
        {"kind", "UInt8"}},
       "ReplacingMergeTree PARTITION BY day ORDER BY (tenant, service, name, kind)"},
      {"attribute_keys",
       {{"tenant", "String"}, {"day", "UInt16"}, {"key", "String"}},
       "ReplacingMergeTree PARTITION BY day ORDER BY (tenant, key)"},
  };
  return tables;
}

const std::vector<ViewSpec>& EventViews() {
  static const std::vector<ViewSpec> views = {
      {"pieces_view", "pieces",
       "SELECT tenant, day, min(start_ns) AS first_ns, trace_hi, trace_lo, max(ends_ns) AS "
       "last_ns, "
       "max(start_ns) AS latest_ns, max(received_ns) AS newest_ns, "
       "max(type = 0 AND status = 2) AS failed, groupUniqArray(service) AS services, "
       "groupUniqArray(name) AS names, groupUniqArray(host) AS hosts FROM {events} "
       "GROUP BY tenant, day, trace_hi, trace_lo"},
      {"resource_events_view", "resource_events",
       "SELECT tenant, day, arrayJoin(resources) AS resource, length_class, start_ns, trace_hi, "
       "trace_lo, id1, content_hi, content_lo, ends_ns, received_ns, resources AS also "
       "FROM {events}"},
  };
  return views;
}

}  // namespace wf::store::clickhouse
