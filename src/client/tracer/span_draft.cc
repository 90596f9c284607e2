#include "client/tracer/span_draft.h"

#include "client/events/otlp_encoder.h"
#include "client/runtime/protobuf_writer.h"

namespace wherefore::client {
namespace {

constexpr size_t kMaxBlockBytes = 16 << 10;

// Runs `encode`; takes it back and counts it when the block gets too big or memory runs out.
// Nothing may be thrown into the host.
template <typename Encode>
void Append(std::string& body, uint32_t& left_out, Encode encode) noexcept {
  const size_t before = body.size();
  try {
    encode(body);
    if (body.size() <= kMaxBlockBytes) return;
  } catch (...) {
  }
  body.resize(before);
  ++left_out;
}

}  // namespace

void SpanDraft::AppendLabel(std::string_view key, const LabelValue& value) noexcept {
  Append(body, left_out_labels,
         [&](std::string& out) { EncodeLabel(LabelsOf::kBlock, key, value, out); });
}

void SpanDraft::AppendPoint(std::string_view point, std::initializer_list<Label> labels) noexcept {
  Append(body, left_out_points,
         [&](std::string& out) { EncodePoint(ClockNs(CLOCK_REALTIME), point, labels, out); });
}

void SpanDraft::AppendLink(const RequestContext& to, std::initializer_list<Label> labels) noexcept {
  Append(body, left_out_links, [&](std::string& out) { EncodeLink(to, labels, out); });
}

void SpanDraft::AppendEvent(EventType type, const Annotation* annotations, size_t count) noexcept {
  // What is said of the block itself is the span's; an event of its own is an event of the span.
  if (type == EventType::kAnnotate) {
    for (size_t i = 0; i < count; ++i) AppendLabel(annotations[i].name, annotations[i].value);
    return;
  }
  Append(body, left_out_points, [&](std::string& out) {
    std::string_view name = EventTypeName(type);
    for (size_t i = 0; i < count; ++i) {
      if (annotations[i].kind == AnnotationKind::kName) name = annotations[i].value.text();
    }
    std::string event;
    AppendFixed64Field(1, static_cast<uint64_t>(ClockNs(CLOCK_REALTIME)), event);
    AppendTextField(2, name, event);
    for (size_t i = 0; i < count; ++i) {
      if (annotations[i].kind >= AnnotationKind::kName) continue;
      EncodeLabel(LabelsOf::kPoint, annotations[i].name, annotations[i].value, event);
    }
    AppendBytesField(11, event, out);
  });
}

}  // namespace wherefore::client
