#include "store/row_order.h"

#include <algorithm>

namespace wf::store {
namespace {

bool SameKey(const RowKey& a, const RowKey& b) {
  return a.id1 == b.id1 && a.start_ns == b.start_ns && a.SameTrace(b);
}

struct Hashed {
  Hash128 hash;
  Nanos received;
  RowKey key;
};

// A run of rows with one key: orders them by content, so that the answer does not depend on arrival, keeps one of
// each content and returns the new end.
size_t KeepDistinct(const BatchList& batches, std::vector<RowKey>& rows, size_t begin, size_t end,
                    size_t out) {
  std::vector<Hashed> run;
  for (size_t i = begin; i < end; ++i) {
    const EventBatch& batch = *batches[rows[i].batch];
    run.push_back({ContentHash(batch, rows[i].row), batch.received_of(rows[i].row), rows[i]});
  }
  std::sort(run.begin(), run.end(), [](const Hashed& a, const Hashed& b) {
    return a.hash == b.hash ? a.received < b.received : a.hash < b.hash;
  });
  for (size_t i = 0; i < run.size(); ++i) {
    if (i == 0 || !(run[i].hash == run[i - 1].hash)) rows[out++] = run[i].key;
  }
  return out;
}

}  // namespace

RowKey KeyOf(const EventBatch& batch, uint32_t batch_index, uint32_t row) {
  return {batch.trace_hi[row], batch.trace_lo[row], batch.start_ns[row],
          batch.id1[row],      batch_index,         row};
}

bool KeyBefore(const RowKey& a, const RowKey& b) {
  if (a.trace_hi != b.trace_hi) return a.trace_hi < b.trace_hi;
  if (a.trace_lo != b.trace_lo) return a.trace_lo < b.trace_lo;
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.id1 < b.id1;
}

void SortRows(std::vector<RowKey>& rows) { std::sort(rows.begin(), rows.end(), KeyBefore); }

size_t SortAndRemoveDoubles(const BatchList& batches, std::vector<RowKey>& rows) {
  SortRows(rows);
  const size_t before = rows.size();
  size_t out = 0;
  for (size_t begin = 0; begin < before;) {
    size_t end = begin + 1;
    while (end < before && SameKey(rows[begin], rows[end])) ++end;
    if (end - begin == 1) {
      rows[out++] = rows[begin];
    } else {
      out = KeepDistinct(batches, rows, begin, end, out);
    }
    begin = end;
  }
  rows.resize(out);
  return before - out;
}

}  // namespace wf::store
