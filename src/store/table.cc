#include "store/table.h"

namespace wf::store {

using enum EngineType;

const std::vector<ColumnDef>& EventTable() {
  static const std::vector<ColumnDef> table = [] {
    std::vector<ColumnDef> columns = {
        {"trace_hi", kUInt64},
        {"trace_lo", kUInt64},
        {"id1", kUInt64},
        {"parent", kUInt32},
        {"start_ns", kInt64},
        {"duration_ns", kInt64},
        {"shape", kUInt32},
        {"receipt", kUInt32},
        {"block", kUInt32},
        {"id2", kUInt64},
        {"sequence", kInt64},
        {"probability", kFloat32},
        {"status_message", kString},
        {"tracestate", kString},
        {"more", kString},
        {"points", kString},
        {"links", kString},
        {"thread", kInt64},
        {"partition_id", kString},
        {"pool", kString},
        {"resource", kString},
    };
    for (size_t i = 0; i < kTextSlots; ++i) columns.push_back({"s" + std::to_string(i), kString});
    for (size_t i = 0; i < kNumberSlots; ++i) columns.push_back({"n" + std::to_string(i), kInt64});
    return columns;
  }();
  return table;
}

const std::vector<ColumnDef>& ShapeTable() {
  static const std::vector<ColumnDef> table = {
      {"segment", kUInt32}, {"shape", kUInt32},    {"service", kString},   {"name", kString},
      {"host", kString},    {"instance", kString}, {"pid", kString},       {"type", kUInt8},
      {"kind", kUInt8},     {"status", kUInt8},    {"parent_ref", kUInt8}, {"marks", kUInt8},
      {"source", kUInt8},   {"flags", kUInt32},    {"process", kUInt32},   {"scope", kUInt32},
      {"layout", kUInt32},
  };
  return table;
}

const std::vector<ColumnDef>& TraceTable() {
  static const std::vector<ColumnDef> table = {
      {"trace_hi", kUInt64},   {"trace_lo", kUInt64}, {"start_ns", kInt64},
      {"duration_ns", kInt64}, {"spans", kUInt32},    {"errors", kUInt32},
  };
  return table;
}

const std::vector<ColumnDef>& SegmentTable() {
  static const std::vector<ColumnDef> table = {
      {"segment", kUInt32},  {"tenant", kString},      {"row_count", kUInt64},
      {"spans", kUInt64},    {"traces", kUInt64},      {"columns", kUInt64},
      {"min_start", kInt64}, {"max_start", kInt64},    {"max_trace_start", kInt64},
      {"max_end", kInt64},   {"min_received", kInt64}, {"max_received", kInt64},
      {"index_at", kUInt64}, {"continued", kString},
  };
  return table;
}

}  // namespace wf::store
