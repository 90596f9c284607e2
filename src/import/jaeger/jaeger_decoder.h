// Jaeger → EventBatch: the collector's Thrift batches and the JSON of Jaeger's API and UI.
//
//   parent       the first CHILD_OF of the same trace, else the first FOLLOWS_FROM of the same trace; every other
//                reference is a link whose ref tells its kind
//   process      service.name, then its tags as given; its host by hostname or ip
//   tags         span attributes as given and typed. span.kind also sets the kind; error=true and otel.status_code the
//                status, otel.status_description its message; the tags stay
//   logs         points with all their fields, named by the field "event", else "message", else "log"
//   warnings     attribute jaeger.warnings, an array of texts
// Times are µs; a JSON span without startTime or duration lacks kHasStart or kHasEnd.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/decode/attribute_writer.h"
#include "json/json_reader.h"

namespace wf::jaeger {

// One Batch in the Thrift binary protocol, as POSTed to /api/traces. On an error nothing is appended.
Status DecodeJaegerThrift(std::string_view batch, const decode::DecodeOptions& options,
                          EventBatch& out, decode::DecodeReport& report);

// {"data":[trace, …]}, one trace or an array of traces. On an error nothing is appended.
Status DecodeJaegerJson(std::string_view body, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report);

// One trace: {"traceID","spans":[…],"processes":{…}}.
void DecodeJaegerTrace(JsonValue trace, decode::AttributeWriter& writer);

}  // namespace wf::jaeger
