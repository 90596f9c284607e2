// Rows of many batches in one order, doubles removed: the step that reading and writing segments share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/event_batch.h"

namespace wf::store {

using BatchList = std::vector<std::shared_ptr<const EventBatch>>;

// One row of one batch of a list, with its sort key: trace, start, id.
struct RowKey {
  uint64_t trace_hi, trace_lo;
  int64_t start_ns;
  uint64_t id1;
  uint32_t batch, row;

  TraceId trace_id() const { return {trace_hi, trace_lo}; }
  bool SameTrace(const RowKey& o) const { return trace_hi == o.trace_hi && trace_lo == o.trace_lo; }
};

// By (trace, start, id): the order of a segment's rows.
bool KeyBefore(const RowKey& a, const RowKey& b);

RowKey KeyOf(const EventBatch& batch, uint32_t batch_index, uint32_t row);

// For rows that are known to be distinct.
void SortRows(std::vector<RowKey>& rows);

// Sorts by (trace, start, id) and removes rows that are the same event received twice; of such rows the one received
// first stays. Returns how many were removed. Content is hashed only where trace, start and id agree.
size_t SortAndRemoveDoubles(const BatchList& batches, std::vector<RowKey>& rows);

}  // namespace wf::store
