// Rows of a trace → the JSON object of one trace in Jaeger's /api/traces answers.
//
// The mapping is that of Jaeger's own OTLP translator, so that a trace looks the same whether it
// went through Jaeger or through us: kind, status, scope and tracestate become tags, span events
// become logs, links become references, times become µs. Values of tags keep their type; arrays and
// maps become their JSON text. What a span lacks (an end, an end after its start) is said in its
// warnings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json_writer.h"
#include "model/event_batch.h"

namespace wf::answer {

// `rows`: the rows of one trace in the order in which its spans are written; rows that are not
// spans are left out.
void WriteJaegerTrace(const EventBatch& batch, const std::vector<size_t>& rows, JsonWriter& out);

// "internal", "server", …; empty for an unspecified kind.
std::string_view JaegerSpanKind(SpanKind kind);

struct TraceRows {
  TraceId id;
  std::vector<size_t> rows;
};
// The batch's spans by trace, in the order in which the traces appear.
std::vector<TraceRows> SpansByTrace(const EventBatch& batch);

}  // namespace wf::answer
