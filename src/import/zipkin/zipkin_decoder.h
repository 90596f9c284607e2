// Zipkin v2 JSON → EventBatch.
//
//   localEndpoint   the process: service.name, ip (ipv4, else ipv6; also its host), ipv6 (when there are both), port
//   remoteEndpoint  span attributes peer.service, peer.ip, peer.ipv6, peer.port
//   tags            span attributes as given; "error" also sets the status, its text the status message
//   annotations     points, named by their value
//   shared          kSharedSpanId: the server reports under its client's id
//   debug           attribute zipkin.debug
// Times are µs. Without timestamp or duration the row lacks kHasStart or kHasEnd; a duration without timestamp is kept
// as attribute zipkin.duration_us.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/decode/attribute_writer.h"
#include "json/json_reader.h"

namespace wf::zipkin {

// A body: an array of spans. On an error nothing is appended.
Status DecodeZipkinJson(std::string_view body, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report);

// One span: appended and counted as accepted, or counted as rejected.
void DecodeZipkinSpan(JsonValue span, decode::AttributeWriter& writer);

}  // namespace wf::zipkin
