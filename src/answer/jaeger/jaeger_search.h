// The search behind Jaeger's /api/traces and /api/v3/traces: traces, newest first, with all their
// spans.
#pragma once

#include <string>
#include <vector>

#include "answer/jaeger/jaeger_params.h"
#include "answer/jaeger/jaeger_trace_json.h"
#include "base/result.h"
#include "store/store.h"

namespace wf::answer {

struct JaegerFound {
  EventBatch batch;
  std::vector<TraceRows> traces;   // rows in `batch`, in the order asked for or newest first
  std::vector<TraceId> not_found;  // of the ids asked for
  // Why the answer holds less than was asked for; empty when it is whole.
  std::vector<std::string> notes;
};

// One answer holds at most this many spans (about 200 MB of JSON); the first trace is always whole.
constexpr int64_t kJaegerMaxSpans = 200'000;

Result<JaegerFound> FindJaegerTraces(store::EventStore& store, const std::string& tenant,
                                     const JaegerSearch& search);

}  // namespace wf::answer
