// Writes one segment, rows sorted by trace, into a part: events, traces, shapes and the segment's own row, inside the
// caller's transaction; before that, its record in the index file.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "model/clock_exchange.h"
#include "store/duckdb/attribute_filter.h"
#include "store/duckdb/connection.h"
#include "store/duckdb/index_file.h"
#include "store/duckdb/segment_layout.h"
#include "store/row_order.h"

namespace wf::store::duckdb {

// A trace of a segment that also has rows in an earlier one (the latest such).
struct ContinuedTrace {
  TraceId trace_id;
  uint64_t earlier_segment = 0;
};

// What is known of a segment without reading it.
struct SegmentFacts {
  uint64_t id = 0;  // running number over all parts
  std::string tenant;
  uint64_t rows = 0, spans = 0, traces = 0;
  uint64_t columns = 0;  // bit i: has column i of EventTable()
  Nanos min_start = INT64_MAX, max_start = INT64_MIN;
  Nanos max_trace_start = INT64_MIN;  // the latest of its traces' starts
  Nanos max_end = INT64_MIN;
  Nanos min_received = INT64_MAX, max_received = INT64_MIN;
  std::vector<ContinuedTrace> continued;  // by trace id
  uint64_t index_at = 0;                  // its record in the part's index file
};

class SegmentWriter {
 public:
  // `rows`: distinct, in (trace, start, id) order, at least one. Batches and rows are borrowed until Write returns.
  SegmentWriter(const BatchList& batches, const std::vector<RowKey>& rows, SlotHomes& homes);

  // `schema`: the part's name. Facts get everything but id and tenant, which the caller gives.
  Status Write(duck::Connection& connection, const std::string& schema, IndexFile& index,
               SegmentFacts& facts);

  TraceFilter& trace_filter() { return trace_filter_; }
  SegmentDictionary& dictionary() { return layout_.dictionary(); }

 private:
  struct TraceRow {
    TraceId id;
    Nanos start, duration;
    uint32_t spans, errors;
  };
  void GatherTraces();
  void GatherReceipts();
  void GatherTrace(size_t begin, size_t end);
  bool IsPlain(size_t begin, size_t end);
  void GatherExchange(size_t parent, size_t child);
  void GatherExchangesSlowly(size_t begin, size_t end);
  size_t EstimateFilterEntries();
  size_t FillEvents(void* const* vectors, size_t capacity);
  void FillAttributes(void* const* vectors, size_t count);
  std::string_view Keep(std::string text);

  const BatchList& batches_;
  const std::vector<RowKey>& rows_;
  SegmentLayout layout_;
  std::vector<bool> used_;

  // One entry a row, in the segment's order.
  std::vector<uint32_t> shape_, parent_, receipt_;
  std::vector<uint64_t> id2_;

  std::vector<TraceRow> traces_;
  TraceFilter trace_filter_;
  ExchangeTable exchanges_;
  std::vector<bool> has_async_;       // per batch: does it know the key wherefore.async?
  std::vector<uint64_t> key_hashes_;  // of the dictionary's texts, as far as they are keys

  // While events are written.
  std::vector<uint8_t> columns_;  // the written columns, in order
  std::vector<int> column_of_;    // event column → place in columns_, or -1
  AttributeFilter* filter_ = nullptr;
  size_t next_ = 0;
  std::deque<std::string> kept_;  // texts made for the present chunk
  std::vector<uint64_t> recent_;  // hashes lately added to the filter
};

}  // namespace wf::store::duckdb
