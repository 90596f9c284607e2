#include "import/jaeger/jaeger_row.h"

namespace wf::jaeger {
namespace {

bool SameText(std::string_view a, std::string_view lower) {
  if (a.size() != lower.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if ((a[i] >= 'A' && a[i] <= 'Z' ? a[i] + 32 : a[i]) != lower[i]) return false;
  }
  return true;
}

}  // namespace

size_t ChooseParent(EventBatch& batch, const std::vector<Reference>& references) {
  const TraceId trace = batch.trace_id(batch.size() - 1);
  for (const ParentRef kind : {ParentRef::kChildOf, ParentRef::kFollowsFrom}) {
    for (size_t i = 0; i < references.size(); ++i) {
      const Reference& reference = references[i];
      if (reference.kind != kind || reference.trace_id != trace || reference.span_id.zero())
        continue;
      batch.id2.back() = reference.span_id.value;
      batch.parent_ref.back() = kind;
      return i;
    }
  }
  return references.size();
}

void PutLinks(EventBatch& batch, const std::vector<Reference>& references, size_t parent) {
  for (size_t i = 0; i < references.size(); ++i) {
    if (i == parent) continue;
    PackedLink link;
    link.trace_id = references[i].trace_id;
    link.span_id = references[i].span_id;
    link.ref = static_cast<uint8_t>(references[i].kind);
    PutLink(link, batch.bytes);
  }
}

void PutTag(std::string_view key, const Value& value, decode::AttributeWriter& writer) {
  writer.Begin(key);
  if (value.type == ValueType::kString || value.type == ValueType::kBytes) {
    writer.PutText(value.text, value.type);
  } else {
    PutValue(value, writer.batch().bytes);
  }
  writer.End();
}

void ApplyTag(std::string_view key, const Value& value, decode::AttributeWriter& writer) {
  EventBatch& batch = writer.batch();
  if (key == "span.kind") {
    static constexpr std::string_view kNames[] = {"unspecified", "internal", "server",
                                                  "client",      "producer", "consumer"};
    for (size_t i = 0; i < std::size(kNames); ++i) {
      if (SameText(value.text, kNames[i])) batch.kind.back() = static_cast<SpanKind>(i);
    }
  } else if (key == "error") {
    if (value.boolean || SameText(value.text, "true")) batch.status.back() = SpanStatus::kError;
  } else if (key == "otel.status_code") {
    if (SameText(value.text, "error")) batch.status.back() = SpanStatus::kError;
    if (SameText(value.text, "ok") && batch.status.back() == SpanStatus::kUnset)
      batch.status.back() = SpanStatus::kOk;
  } else if (key == "otel.status_description") {
    batch.status_message.back() = writer.Intern(value.text);
  }
}

}  // namespace wf::jaeger
