// Rows of traces → "resourceSpans" of OTLP JSON as Jaeger's /api/v3 groups them: trace by trace,
// within a trace by process, within a process by scope. Grafana's search takes the earliest span of
// each group for a trace of its own, so spans of two traces must not share a group (an export,
// which groups by process alone, may do that).
#pragma once

#include <vector>

#include "answer/jaeger/jaeger_trace_json.h"
#include "json/json_writer.h"
#include "model/event_batch.h"

namespace wf::answer {

// Writes the array.
void WriteResourceSpans(const EventBatch& batch, const std::vector<TraceRows>& traces,
                        JsonWriter& out);

}  // namespace wf::answer
