#include "import/otlp/otlp_row.h"

namespace wf::otlp {
namespace {

bool InRange(const Value& value, int64_t most) {
  return value.type == ValueType::kInt && value.integer >= 0 && value.integer <= most;
}

bool Restore(EventBatch& batch, decode::AttributePlace place, std::string_view key,
             const Value& value, SpanState& state) {
  if (place == decode::AttributePlace::kLink) {
    if (key != kRowLinkRef || !InRange(value, static_cast<int>(ParentRef::kFollowsFrom)))
      return false;
    state.link_ref = static_cast<uint8_t>(value.integer);
    return true;
  }
  if (place != decode::AttributePlace::kSpan) return false;
  if (key == kRowType) {
    if (value.type != ValueType::kString) return false;
    const EventType type = wherefore::ParseEventType(value.text);
    if (type == EventType::kUnknown && value.text != "unknown") return false;
    batch.type.back() = type;
    return true;
  }
  if (key == kRowMarks) {
    if (!InRange(value, kHasEnd | kHasStart | kSharedSpanId)) return false;
    state.restored_marks = static_cast<int>(value.integer);
    return true;
  }
  if (key == kRowParentRef) {
    if (!InRange(value, static_cast<int>(ParentRef::kFollowsFrom))) return false;
    state.restored_parent_ref = static_cast<int>(value.integer);
    return true;
  }
  if (key == kRowSequence) {
    if (value.type != ValueType::kInt) return false;
    batch.SetSequence(value.integer);
    return true;
  }
  if (key == kRowSource) {
    if (!InRange(value, static_cast<int>(Source::kInferred))) return false;
    batch.SetSource(static_cast<Source>(value.integer), batch.probability_of(batch.size() - 1));
    return true;
  }
  if (key == kRowProbability) {
    if (value.type != ValueType::kDouble || !(value.number >= 0 && value.number <= 1)) return false;
    batch.SetSource(batch.source_of(batch.size() - 1), static_cast<float>(value.number));
    return true;
  }
  return false;
}

}  // namespace

void RestoreRowAttribute(decode::AttributeWriter& writer, decode::AttributePlace place,
                         SpanState& state) {
  EventBatch& batch = writer.batch();
  if (batch.bytes.size() == writer.mark()) return;  // a rule dropped it
  AttributeReader reader(std::string_view(batch.bytes).substr(writer.mark()));
  uint32_t code;
  Value value;
  if (reader.Next(code, value) && Restore(batch, place, batch.str(code), value, state)) {
    batch.bytes.resize(writer.mark());
  }
}

void SetKind(EventBatch& batch, int64_t number, decode::DecodeReport& report) {
  if (number < 0 || number > static_cast<int>(SpanKind::kConsumer)) {
    report.Repair("unknown_kind");
    number = 0;
  }
  batch.kind.back() = static_cast<SpanKind>(number);
}

void SetStatus(EventBatch& batch, int64_t number, decode::DecodeReport& report) {
  if (number < 0 || number > static_cast<int>(SpanStatus::kError)) {
    report.Repair("unknown_status");
    number = 0;
  }
  batch.status.back() = static_cast<SpanStatus>(number);
}

void FinishSpan(EventBatch& batch, const SpanState& state, decode::DecodeReport& report) {
  const char* reason = state.rejected;
  if (reason == nullptr) {
    if (!state.trace_id_ok || (batch.trace_hi.back() == 0 && batch.trace_lo.back() == 0)) {
      reason = "trace_id_zero";
    } else if (batch.type.back() == EventType::kSpan &&
               (!state.span_id_ok || batch.id1.back() == 0)) {
      reason = "span_id_zero";
    }
  }
  if (reason != nullptr) {
    report.Reject(reason);
    batch.DropLastRow();
    return;
  }
  batch.marks.back() = state.restored_marks >= 0
                           ? static_cast<uint8_t>(state.restored_marks)
                           : OtlpMarks(batch.start_ns.back(), batch.end_ns.back());
  batch.parent_ref.back() = state.restored_parent_ref >= 0
                                ? static_cast<ParentRef>(state.restored_parent_ref)
                            : batch.id2.back() != 0 ? ParentRef::kChildOf
                                                    : ParentRef::kNone;
  ++report.accepted;
}

}  // namespace wf::otlp
