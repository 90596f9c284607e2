// Which request a thread works for: libwherefore, if the program has it, reports every change
// (src/client/tracer/recorder_link.h), so that waits in a request's threads are known to belong to it.
#include "recorder/preload/recording.h"

using namespace wf::recorder;

// All zeros: for none.
WF_EXPORT void wherefore_record_trace(uint64_t trace_high, uint64_t trace_low, uint64_t span) {
  Slot* slot = CurrentSlot();
  if (slot == nullptr) return;
  Trace record = {};
  record.head = {RecordKind::kTrace, 0, sizeof(record)};
  record.trace_high = trace_high;
  record.trace_low = trace_low;
  record.span = span;
  record.time_ns = Now();
  Append(slot, &record, sizeof(record));
}
