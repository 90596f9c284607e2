#include "model/event_home.h"

namespace wf {

EventHome::EventHome(const EventBatch& batch, const uint32_t* rows, size_t count) : batch_(batch) {
  bool only_spans = true;
  for (size_t i = 0; i < count && only_spans; ++i)
    only_spans = batch.type[rows[i]] == EventType::kSpan;
  if (only_spans) return;
  // What is named first: spans, units, then events that name their process and the place they happened in.
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    if (batch.type[row] == EventType::kSpan) {
      home_.Insert(batch.id1[row], batch.process[row]);
    } else if (batch.type[row] == EventType::kBlockBegin && Named(batch.process[row])) {
      home_.Insert(batch.id1[row], batch.process[row]);
      home_.Insert(batch.id2[row], batch.process[row]);
    } else if (Named(batch.process[row])) {
      home_.Insert(PlaceOf(row), batch.process[row]);
    }
  }
  // Blocks that say nothing are in their unit's process.
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    if (batch.type[row] != EventType::kBlockBegin && batch.type[row] != EventType::kBlockEnd)
      continue;
    const uint32_t unit = home_.Find(batch.id2[row]);
    if (unit != kNone) home_.Insert(batch.id1[row], unit);
  }
}

}  // namespace wf
