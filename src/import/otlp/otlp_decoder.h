// OTLP → EventBatch, from protobuf (the ingest path) and from JSON.
//
// OTLP fields without a column in the batch are kept as attributes, after those of the sender:
//   otel.dropped_attributes_count   on process, scope, span, point and link (int, when not zero)
//   otel.dropped_events_count, otel.dropped_links_count   on the span
//   otel.schema_url                 on process and scope
// A span without end (end 0 and start not 0) lacks kHasEnd; a start of 0 is a time, because protobuf does not tell
// 0 from absent. Attributes under "wherefore.row." restore what our own export wrote (otlp_encoder.h).
//
// All functions append to `out`. On an error nothing is appended: a request is accepted or rejected as a
// whole, but single spans may be rejected (report.rejected) for ids that are zero or of the wrong length.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/decode/attribute_rules.h"
#include "import/decode/decode_report.h"
#include "model/event_batch.h"

namespace wf::otlp {

// One ExportTraceServiceRequest (also TracesData: the same bytes). Concatenated requests are one request, as
// protobuf defines it.
Status DecodeOtlpProtobuf(std::string_view request, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report);

// One request as JSON: ids in hex, names in camelCase or snake_case, 64-bit integers as numbers or strings, enums as
// numbers or names, bytes in base64.
Status DecodeOtlpJson(std::string_view request, const decode::DecodeOptions& options,
                      EventBatch& out, decode::DecodeReport& report);

// Log records of an ExportLogsServiceRequest and data points of an ExportMetricsServiceRequest (protobuf):
// neither is kept, and the answer says how many were rejected.
Result<int64_t> CountOtlpLogs(std::string_view request);
Result<int64_t> CountOtlpMetrics(std::string_view request);
Result<int64_t> CountOtlpLogsJson(std::string_view request);
Result<int64_t> CountOtlpMetricsJson(std::string_view request);

}  // namespace wf::otlp
