// What the protobuf and the JSON decoder share: how a span's fields become a row. Internal to this folder.
#pragma once

#include <string_view>

#include "import/decode/attribute_writer.h"
#include "model/event_batch.h"

namespace wf::otlp {

constexpr std::string_view kDroppedAttributes = "otel.dropped_attributes_count";
constexpr std::string_view kDroppedEvents = "otel.dropped_events_count";
constexpr std::string_view kDroppedLinks = "otel.dropped_links_count";
constexpr std::string_view kSchemaUrl = "otel.schema_url";

// Names of what our own export adds to a row that did not come from OTLP.
constexpr std::string_view kRowType = "wherefore.row.type";             // string: the event's type
constexpr std::string_view kRowMarks = "wherefore.row.marks";           // int: EventBatch::marks
constexpr std::string_view kRowParentRef = "wherefore.row.parent_ref";  // int: ParentRef
constexpr std::string_view kRowSequence = "wherefore.row.sequence";     // int
constexpr std::string_view kRowSource = "wherefore.row.source";         // int: Source
constexpr std::string_view kRowProbability = "wherefore.row.probability";  // double
// int: PackedLink::ref, on a link.
constexpr std::string_view kRowLinkRef = "wherefore.row.link_ref";

// The offset of PackedLink::ref in a packed link: after trace and span id.
constexpr size_t kPackedLinkRefOffset = 24;

// Columns of a span that are known only when all its fields were read.
struct SpanState {
  bool trace_id_ok = false, span_id_ok = false;
  const char* rejected = nullptr;  // reason, when an id has the wrong length
  int restored_marks = -1, restored_parent_ref = -1;
  uint8_t link_ref = 0;
};

// Marks of a span whose times came over OTLP.
inline uint8_t OtlpMarks(int64_t start, int64_t end) {
  return static_cast<uint8_t>(kHasStart | (end != 0 || start == 0 ? kHasEnd : 0));
}

// The attribute just written to the last row (or link) has a "wherefore.row." key: when it is one of ours and
// its value is in range, restores its meaning and removes it; else it stays an ordinary attribute.
void RestoreRowAttribute(decode::AttributeWriter& writer, decode::AttributePlace place,
                         SpanState& state);

// Sets kind and status from the wire's numbers, counting unknown ones.
void SetKind(EventBatch& batch, int64_t number, decode::DecodeReport& report);
void SetStatus(EventBatch& batch, int64_t number, decode::DecodeReport& report);

// Settles marks and parent reference; drops and counts the last row when an id is missing, zero or malformed.
void FinishSpan(EventBatch& batch, const SpanState& state, decode::DecodeReport& report);

}  // namespace wf::otlp
