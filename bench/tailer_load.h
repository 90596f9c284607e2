// Traces of a chosen number of events for the tailer's benchmarks: a request through a few services, as a tree of CLIENT
// spans with a SERVER child each and local work below, on hosts of their own. The same number gives the same trace.
#pragma once

#include <cstdint>
#include <string>

#include "model/event_batch.h"

namespace wf {

struct TailedTrace {
  uint64_t number = 0;  // of the trace: its id follows
  size_t events = 160;
  Nanos start_ns = 0;
  std::string service = "web";  // of the root; others are service-1, service-2, …
};

TraceId TailedTraceId(uint64_t number);
// Appends the spans; the batch is of tenant default.
void AddTailedTrace(const TailedTrace& trace, EventBatch& batch);

}  // namespace wf
