// Stored rows of one segment back into a batch, with the dictionary's codes.
//
// Rows must come in stored order and all rows of a trace together, because a parent is stored as a place among them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "store/duckdb/connection.h"
#include "store/duckdb/part.h"
#include "store/row_order.h"

namespace wf::store::duckdb {

class RowDecoder {
 public:
  // `columns`: those that are read; attributes in others are left out of the rows.
  RowDecoder(const Segment& segment, std::shared_ptr<const SegmentDictionary> dictionary,
             uint64_t columns = UINT64_MAX);

  // A chunk of `SELECT segment.select_list(columns)`. `wanted` tells which traces to keep.
  template <typename Wanted>
  Status Add(const duck::Chunk& chunk, const Wanted& wanted) {
    const auto* hi = chunk.Column<uint64_t>(0);
    const auto* lo = chunk.Column<uint64_t>(1);
    const size_t size = chunk.size();
    for (size_t i = 0; i < size; ++i) {
      if (wanted(TraceId{hi[i], lo[i]})) WF_TRY(AddRow(chunk, i));
    }
    return {};
  }
  // All rows; the decoder is empty afterwards.
  std::shared_ptr<const EventBatch> Finish();
  // The traces that were surely read whole, which are then forgotten; null when there is none.
  std::shared_ptr<const EventBatch> TakeWholeTraces();

 private:
  std::shared_ptr<EventBatch> NewBatch() const;
  Status AddRow(const duck::Chunk& chunk, size_t i);
  void EndTrace();

  const Segment& segment_;
  std::shared_ptr<const SegmentDictionary> dictionary_;
  std::shared_ptr<EventBatch> batch_;
  std::vector<uint32_t> parents_;  // places, of each row
  size_t trace_begin_ = 0;         // first row of the trace being read
  std::vector<int> place_;         // event column → place in the chunk, or -1
  bool whole_rows_;                // no column is left out
};

}  // namespace wf::store::duckdb
