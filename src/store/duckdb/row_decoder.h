// Stored rows back into batches: one batch per segment, with the dictionary's codes.
//
// Rows must come in stored order and all rows of a trace in a segment together, because a parent is stored as a place
// among them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "store/duckdb/connection.h"
#include "store/duckdb/part.h"
#include "store/row_order.h"

namespace wf {

// Gives the dictionary of a segment, from a cache or the part.
using DictionarySource = std::function<Result<std::shared_ptr<const SegmentDictionary>>(const Segment&)>;

class RowDecoder {
 public:
  // `segments`: those of one part whose rows are wanted, in order of blocks; rows of others are passed over.
  RowDecoder(const Part& part, std::vector<const Segment*> segments, const DictionarySource& dictionaries);

  // A chunk of `SELECT part.select_list()`. `wanted` tells which traces to keep.
  template <typename Wanted>
  Status Add(const duck::Chunk& chunk, const Wanted& wanted) {
    const auto* hi = chunk.Column<uint64_t>(0);
    const auto* lo = chunk.Column<uint64_t>(1);
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (wanted(TraceId{hi[i], lo[i]})) WF_TRY(AddRow(chunk, i));
    }
    return {};
  }
  // The batches, one per segment that had rows, in order; `segments` gets their numbers.
  BatchList Finish(std::vector<uint64_t>* segments = nullptr);
  // With one segment: the traces read whole so far, which are then forgotten; null when there is none.
  std::shared_ptr<const EventBatch> TakeWholeTraces();

 private:
  struct Staged {
    std::shared_ptr<const SegmentDictionary> dictionary;
    std::shared_ptr<EventBatch> batch;
    std::vector<uint32_t> parents;  // places, of each row
    size_t trace_begin = 0;         // first row of the trace being read
  };
  Status AddRow(const duck::Chunk& chunk, size_t i);
  void EndTrace(Staged& staged);

  const Part& part_;
  std::vector<const Segment*> segments_;
  const DictionarySource& dictionaries_;
  std::vector<Staged> staged_;
  std::vector<int> place_;  // event column → place in the chunk, or -1
};

}  // namespace wf
