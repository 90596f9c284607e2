#include "model/event_home.h"

namespace wf {

EventHome::EventHome(const EventBatch& batch, const uint32_t* rows, size_t count) : batch_(batch) {
  bool only_spans = true;
  for (size_t i = 0; i < count && only_spans; ++i) only_spans = batch.type[rows[i]] == EventType::kSpan;
  if (only_spans) return;
  // What is named first: spans, units, then events that name their process and the place they happened in. Of several
  // names the one of the smallest row would depend on the order of rows; the smallest name does not.
  const auto put = [&](uint64_t place, uint32_t process) {
    const uint32_t known = home_.Insert(place, process);
    if (known == process) return;
    const Process& a = batch.processes[known];
    const Process& b = batch.processes[process];
    if (std::make_pair(batch.str(b.service), batch.str(b.host)) < std::make_pair(batch.str(a.service), batch.str(a.host))) {
      home_.Replace(place, process);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    if (batch.type[row] == EventType::kSpan) {
      put(batch.id1[row], batch.process[row]);
    } else if (batch.type[row] == EventType::kBlockBegin && Named(batch.process[row])) {
      put(batch.id1[row], batch.process[row]);
      put(batch.id2[row], batch.process[row]);
    } else if (Named(batch.process[row])) {
      put(PlaceOf(row), batch.process[row]);
    }
  }
  // Blocks that say nothing are in their unit's process.
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = rows[i];
    if (batch.type[row] != EventType::kBlockBegin && batch.type[row] != EventType::kBlockEnd) continue;
    const uint32_t unit = home_.Find(batch.id2[row]);
    if (unit != kNone) home_.Insert(batch.id1[row], unit);
  }
}

}  // namespace wf
