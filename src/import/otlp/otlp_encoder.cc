#include "import/otlp/otlp_encoder.h"

#include <protozero/pbf_writer.hpp>

#include "import/otlp/otlp_export_plan.h"
#include "import/otlp/otlp_fields.h"
#include "import/otlp/otlp_row.h"

namespace wf::otlp {
namespace {

using protozero::pbf_writer;
using namespace otlp;

void Text(pbf_writer& writer, uint32_t field, std::string_view text) {
  if (!text.empty()) writer.add_string(field, text.data(), text.size());
}
void Count(pbf_writer& writer, uint32_t field, uint32_t count) {
  if (count != 0) writer.add_uint32(field, count);
}

// `writer` writes the AnyValue's fields. pbf_writer leaves out a message that stays empty, but an empty array is not
// null and a null inside an array counts: those are written as such.
void AnyValue(pbf_writer& writer, const Value& value) {
  switch (value.type) {
    case ValueType::kNull:
      return;
    case ValueType::kString:
      return writer.add_string(kAnyString, value.text.data(), value.text.size());
    case ValueType::kBool:
      return writer.add_bool(kAnyBool, value.boolean);
    case ValueType::kInt:
      return writer.add_int64(kAnyInt, value.integer);
    case ValueType::kDouble:
      return writer.add_double(kAnyDouble, value.number);
    case ValueType::kBytes:
      return writer.add_bytes(kAnyBytes, value.text.data(), value.text.size());
    case ValueType::kArray: {
      if (value.text.empty()) return writer.add_message(kAnyArray, "", 0);
      pbf_writer list(writer, kAnyArray);
      ArrayReader reader(value.text);
      for (Value element; reader.Next(element);) {
        if (element.type == ValueType::kNull) {
          list.add_message(kListValues, "", 0);
          continue;
        }
        pbf_writer any(list, kListValues);
        AnyValue(any, element);
      }
      return;
    }
    case ValueType::kMap: {
      if (value.text.empty()) return writer.add_message(kAnyMap, "", 0);
      pbf_writer list(writer, kAnyMap);
      MapReader reader(value.text);
      std::string_view key;
      for (Value element; reader.Next(key, element);) {
        pbf_writer pair(list, kListValues);
        pair.add_string(kKeyValueKey, key.data(), key.size());
        pbf_writer any(pair, kKeyValueValue);
        AnyValue(any, element);
      }
      return;
    }
  }
}

void Attributes(pbf_writer& writer, uint32_t field, const std::vector<KeyedValue>& attributes) {
  for (const KeyedValue& attribute : attributes) {
    pbf_writer pair(writer, field);
    pair.add_string(kKeyValueKey, attribute.key.data(), attribute.key.size());
    pbf_writer any(pair, kKeyValueValue);
    AnyValue(any, attribute.value);
  }
}

void AddId(pbf_writer& writer, uint32_t field, uint64_t id) {
  char bytes[8];
  StoreBigEndian64(id, bytes);
  writer.add_bytes(field, bytes, 8);
}
void AddId(pbf_writer& writer, uint32_t field, TraceId id) {
  char bytes[16];
  StoreBigEndian64(id.hi, bytes);
  StoreBigEndian64(id.lo, bytes + 8);
  writer.add_bytes(field, bytes, 16);
}

void Span(pbf_writer& writer, const EventBatch& b, uint32_t row) {
  AddId(writer, kSpanTraceId, b.trace_id(row));
  AddId(writer, kSpanSpanId, b.id1[row]);
  Text(writer, kSpanTraceState, b.str(b.tracestate[row]));
  if (b.id2[row] != 0) AddId(writer, kSpanParentSpanId, b.id2[row]);
  Text(writer, kSpanName, b.str(b.name[row]));
  writer.add_enum(kSpanKind, static_cast<int32_t>(b.kind[row]));
  writer.add_fixed64(kSpanStart, static_cast<uint64_t>(b.start_ns[row]));
  writer.add_fixed64(kSpanEnd, static_cast<uint64_t>(b.end_ns[row]));
  const SplitAttributes split = Split(b, b.attrs(row), FieldsOf::kSpan);
  Attributes(writer, kSpanAttributes, split.attributes);
  Attributes(writer, kSpanAttributes, RowAttributes(b, row));
  Count(writer, kSpanDroppedAttributes, split.dropped_attributes);
  PointReader points(b.points(row));
  for (PackedPoint point; points.Next(point);) {
    pbf_writer event(writer, kSpanEvents);
    event.add_fixed64(kEventTime, static_cast<uint64_t>(point.time_ns));
    Text(event, kEventName, b.str(point.name));
    const SplitAttributes own = Split(b, point.attrs, FieldsOf::kPointOrLink);
    Attributes(event, kEventAttributes, own.attributes);
    Count(event, kEventDroppedAttributes, own.dropped_attributes);
  }
  Count(writer, kSpanDroppedEvents, split.dropped_events);
  LinkReader links(b.links(row));
  for (PackedLink link; links.Next(link);) {
    pbf_writer out(writer, kSpanLinks);
    AddId(out, kLinkTraceId, link.trace_id);
    AddId(out, kLinkSpanId, link.span_id.value);
    Text(out, kLinkTraceState, b.str(link.tracestate));
    const SplitAttributes own = Split(b, link.attrs, FieldsOf::kPointOrLink);
    Attributes(out, kLinkAttributes, own.attributes);
    if (link.ref != 0) {
      KeyedValue ref{kRowLinkRef, {}};
      ref.value.type = ValueType::kInt;
      ref.value.integer = link.ref;
      Attributes(out, kLinkAttributes, {ref});
    }
    Count(out, kLinkDroppedAttributes, own.dropped_attributes);
    if (link.flags != 0) out.add_fixed32(kLinkFlags, link.flags);
  }
  Count(writer, kSpanDroppedLinks, split.dropped_links);
  if (b.status[row] != SpanStatus::kUnset || b.status_message[row] != 0) {
    pbf_writer status(writer, kSpanStatus);
    Text(status, kStatusMessage, b.str(b.status_message[row]));
    status.add_enum(kStatusCode, static_cast<int32_t>(b.status[row]));
  }
  if (b.flags[row] != 0) writer.add_fixed32(kSpanFlags, b.flags[row]);
}

}  // namespace

void EncodeOtlpProtobuf(const EventBatch& batch, const std::vector<uint32_t>& rows,
                        std::string& out) {
  pbf_writer request(out);
  for (const ProcessGroup& process : GroupRows(batch, rows)) {
    pbf_writer resource_spans(request, kRequestResourceSpans);
    const Process& p = batch.processes[process.process];
    const SplitAttributes fields =
        Split(batch, batch.Slice(p.attrs_begin, p.attrs_end), FieldsOf::kProcess);
    {
      pbf_writer resource(resource_spans, kResourceSpansResource);
      Attributes(resource, kResourceAttributes, fields.attributes);
      Attributes(resource, kResourceAttributes, MissingProcessAttributes(batch, process.process));
      Count(resource, kResourceDroppedAttributes, fields.dropped_attributes);
    }
    for (const ScopeGroup& group : process.scopes) {
      pbf_writer scope_spans(resource_spans, kResourceSpansScopeSpans);
      const Scope& s = batch.scopes[group.scope];
      const SplitAttributes own =
          Split(batch, batch.Slice(s.attrs_begin, s.attrs_end), FieldsOf::kScope);
      {
        pbf_writer scope(scope_spans, kScopeSpansScope);
        Text(scope, kScopeName, batch.str(s.name));
        Text(scope, kScopeVersion, batch.str(s.version));
        Attributes(scope, kScopeAttributes, own.attributes);
        Count(scope, kScopeDroppedAttributes, own.dropped_attributes);
      }
      for (const uint32_t row : group.rows) {
        pbf_writer span(scope_spans, kScopeSpansSpans);
        Span(span, batch, row);
      }
      Text(scope_spans, kScopeSpansSchemaUrl, own.schema_url);
    }
    Text(resource_spans, kResourceSpansSchemaUrl, fields.schema_url);
  }
}

}  // namespace wf::otlp
