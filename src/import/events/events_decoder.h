// wherefore's own events as JSON lines → EventBatch.
//
//   {"trace_id","type","id1","id2"?,"seq"?,"time_ns","annotations"?}
//
// Ids of up to 16 hex digits are taken as they are; any other text is hashed to 64 bits and kept as attribute
// wherefore.id1 or wherefore.id2. A type we do not know is kept as kUnknown with its name as attribute wherefore.type.
// Annotations become attributes under their own keys ("label:NAME", "counter:NAME:UNIT", …); label:service and
// label:host also name the process of the row, so that search by service finds it. label:kind of a block_begin
// (internal, server, client, producer, consumer) is the block's kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/decode/attribute_writer.h"
#include "json/json_reader.h"

namespace wf::events {

// JSON lines. On an error nothing is appended.
Status DecodeEventsJson(std::string_view lines, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report);

// What the sender of lines gets to know about rejected ones.
struct LineFault {
  int64_t line = 0;  // from 1
  std::string reason;
};

// For receivers: one event per line, and a bad line does not affect the others. It is rejected, counted, and
// reported with its number; at most `kMaxLineFaults` are reported.
constexpr size_t kMaxLineFaults = 100;
void DecodeEventLines(std::string_view lines, const decode::DecodeOptions& options, EventBatch& out,
                      decode::DecodeReport& report, std::vector<LineFault>& faults);

void DecodeEvent(JsonValue event, decode::AttributeWriter& writer);

}  // namespace wf::events
