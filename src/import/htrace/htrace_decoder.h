// HTrace JSON spans → EventBatch. Two forms, distinguished by their keys:
//
//   HTrace 4  "a": 32 hex digits. By HTrace's own definition the upper 64 bits are passed from parent to child and the
//             lower are random: the upper half is our trace id (zero-padded), the lower the span id.
//   HTrace 3  "i": trace id, "s": span id, 16 hex digits each.
//   both      "b" begin and "e" end in ms, "d" description, "r" tracer or process, "p" parents, "n" {key: value},
//             "t" [{"t": ms, "m": message}]
// The first parent of the same trace is the parent; every other parent is a link (CHILD_OF). A span with begin and
// without end (0: HTrace calls it running) lacks kHasEnd. "r" is split at the last '/': HTrace's default tracer id is
// NAME/IP, so NAME is the service and IP the host; the whole text is kept as htrace.tracer_id.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/decode/attribute_writer.h"
#include "json/json_reader.h"

namespace wf::htrace {

// Spans one after another (JSON lines) or in an array. On an error nothing is appended.
Status DecodeHTraceJson(std::string_view text, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report);

void DecodeHTraceSpan(JsonValue span, decode::AttributeWriter& writer);

}  // namespace wf::htrace
