// Jaeger knows spans only. Traces that hold other events (our own instrumentation: blocks, queues, locks, remote calls)
// are modeled, and each block that no span recorded becomes a span: so Grafana shows them like any other.
#pragma once

#include "model/event_batch.h"

namespace wf::answer {

// The batch with spans only. Rows of a trace that holds nothing else are taken as they are; of other traces, spans stay
// as they were received and blocks take the id, times, parent, kind and name that the model gives them. Stand-ins, which
// nobody recorded, are left out.
EventBatch BlocksAsSpans(EventBatch batch);

}  // namespace wf::answer
