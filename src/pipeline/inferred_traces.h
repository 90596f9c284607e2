// Calls and their inferred parents → spans, marked as inferred with their probability, so that waterfall,
// critical path, datasets and explanations work on black boxes as on instrumented programs.
//
// A path is a root call with everything below it; it becomes one trace. A call becomes a server span at its
// callee, and for every call but the root's a client span at its caller, so that the time between the two
// ends counts as network and belongs to no service. Ids are computed from the messages: the same messages
// give the same traces again.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/paths/call.h"
#include "model/event_batch.h"

namespace wf::pipeline {

struct InferredTraceCounts {
  uint64_t traces = 0, spans = 0;
  uint64_t unreturned = 0;  // calls without a return, which are in no trace
};

// Receives batches of at most `max_rows` rows, unless a single trace has more. An error stops the writing and
// is returned.
using InferredSink = std::function<Status(EventBatch&&)>;

// `calls` and `assignments` go together by index; a parent's index may be smaller or greater than its child's.
Result<InferredTraceCounts> WriteInferredTraces(std::span<const paths::Call> calls,
                                                const std::vector<paths::Assignment>& assignments,
                                                const StringTable& nodes, size_t max_rows,
                                                const InferredSink& sink);

}  // namespace wf::pipeline
