// The one table definition: what every engine stores, as data. Only types that ClickHouse 18.16 also has; instants and
// durations are Int64 nanoseconds, ids UInt64 halves, texts are bytes.
//
// `events_N` holds the events of segment N, one row each, sorted by trace. What repeats from row to row (process, scope,
// name, kind, status, which attributes there are and where they stand) is written once, as a *shape*, and rows hold
// the shape's number: one column instead of thirteen (measured: 0.05–0.12 µs a span for each column saved).
// Optional columns are left out of a segment whose rows all have the default. Each segment is a table of its own:
// then its row groups are its own too, and writing it does not rewrite a neighbour's half-filled last one (measured:
// a third of all CPU and of the file).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wf::store {

// kText is UTF-8, which rows of datasets are; kString is bytes, because VARCHAR pays for a check of every value.
enum class EngineType : uint8_t {
  kInt64,
  kUInt64,
  kUInt32,
  kUInt8,
  kFloat32,
  kString,
  kFloat64,
  kText
};

struct ColumnDef {
  std::string name;
  EngineType type = EngineType::kInt64;
};

// Rows of a block: the unit of the attribute filters, and DuckDB's vector.
constexpr size_t kBlockRows = 2048;
constexpr size_t kRowGroupRows = 122880;  // DuckDB's row group
constexpr size_t kTextSlots = 8;          // s0…: text values of attributes
constexpr size_t kNumberSlots = 8;        // n0…: integers, booleans, the bits of doubles

// The columns of `events_N`, in order. Attribute values go to slots; some keys have a column of their own, because
// "what ran on resource R" asks for them.
enum EventColumn : uint8_t {
  kColTraceHi,
  kColTraceLo,
  kColId1,
  kColParent,  // place of the parent among the trace's rows in this segment, from 1; 0: see id2
  kColStart,
  kColDuration,  // end - start, modulo 2^64: the raw end is start + duration
  kColShape,
  kColReceipt,  // place of the receipt time in the segment's dictionary
  kColBlock,    // running number of the 2,048-row block
  kColFirstOptional,
  kColId2 = kColFirstOptional,  // where `parent` is 0
  kColSequence,
  kColProbability,
  kColStatusMessage,
  kColTracestate,
  kColMore,  // attribute values that found no slot
  kColPoints,
  kColLinks,
  kColThread,     // thread.id as a number
  kColPartition,  // messaging.destination.partition.id
  kColPool,       // db.client.connection.pool.name
  kColResource,   // wherefore.resource
  kColText0,
  kColNumber0 = kColText0 + kTextSlots,
  kEventColumns = kColNumber0 + kNumberSlots,
};

const std::vector<ColumnDef>& EventTable();
// One row per shape: the rest of an event's row, and the resource keys of its process.
const std::vector<ColumnDef>& ShapeTable();
// One table per segment, one row per trace, to choose candidates by time and duration; never trusted, answers are
// rebuilt.
const std::vector<ColumnDef>& TraceTable();
// One row per segment.
const std::vector<ColumnDef>& SegmentTable();

}  // namespace wf::store
