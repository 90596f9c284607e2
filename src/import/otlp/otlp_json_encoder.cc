#include <string>

#include "base/base64.h"
#include "import/otlp/otlp_encoder.h"
#include "import/otlp/otlp_export_plan.h"
#include "import/otlp/otlp_row.h"
#include "json/json_writer.h"

namespace wf::otlp {
namespace {

using namespace otlp;

void AnyValue(JsonWriter& json, const Value& value) {
  json.BeginObject();
  switch (value.type) {
    case ValueType::kNull:
      break;
    case ValueType::kString:
      json.Field("stringValue", value.text);
      break;
    case ValueType::kBool:
      json.Field("boolValue", value.boolean);
      break;
    case ValueType::kInt:
      json.Field("intValue", std::to_string(value.integer));
      break;
    case ValueType::kDouble:
      json.Key("doubleValue").Double(value.number);
      break;
    case ValueType::kBytes:
      json.Field("bytesValue", Base64Encode(value.text));
      break;
    case ValueType::kArray: {
      json.Key("arrayValue").BeginObject().Key("values").BeginArray();
      ArrayReader reader(value.text);
      for (Value element; reader.Next(element);) AnyValue(json, element);
      json.EndArray().EndObject();
      break;
    }
    case ValueType::kMap: {
      json.Key("kvlistValue").BeginObject().Key("values").BeginArray();
      MapReader reader(value.text);
      std::string_view key;
      for (Value element; reader.Next(key, element);) {
        json.BeginObject().Field("key", key).Key("value");
        AnyValue(json, element);
        json.EndObject();
      }
      json.EndArray().EndObject();
      break;
    }
  }
  json.EndObject();
}

void Attributes(JsonWriter& json, const std::vector<KeyedValue>& attributes,
                const std::vector<KeyedValue>& more = {}) {
  if (attributes.empty() && more.empty()) return;
  json.Key("attributes").BeginArray();
  for (const auto* list : {&attributes, &more}) {
    for (const KeyedValue& attribute : *list) {
      json.BeginObject().Field("key", attribute.key).Key("value");
      AnyValue(json, attribute.value);
      json.EndObject();
    }
  }
  json.EndArray();
}

void Count(JsonWriter& json, const char* key, uint32_t count) {
  if (count != 0) json.Field(key, uint64_t{count});
}
void Text(JsonWriter& json, const char* key, std::string_view text) {
  if (!text.empty()) json.Field(key, text);
}
void Time(JsonWriter& json, const char* key, Nanos time) {
  json.Field(key, std::to_string(static_cast<uint64_t>(time)));
}

void Span(JsonWriter& json, const EventBatch& b, uint32_t row) {
  json.BeginObject();
  json.Field("traceId", ToHex(b.trace_id(row))).Field("spanId", ToHex64(b.id1[row]));
  Text(json, "traceState", b.str(b.tracestate[row]));
  if (b.id2[row] != 0) json.Field("parentSpanId", ToHex64(b.id2[row]));
  if (b.flags[row] != 0) json.Field("flags", uint64_t{b.flags[row]});
  json.Field("name", b.str(b.name[row])).Field("kind", static_cast<int>(b.kind[row]));
  Time(json, "startTimeUnixNano", b.start_ns[row]);
  Time(json, "endTimeUnixNano", b.end_ns[row]);
  const SplitAttributes split = Split(b, b.attrs(row), FieldsOf::kSpan);
  Attributes(json, split.attributes, RowAttributes(b, row));
  Count(json, "droppedAttributesCount", split.dropped_attributes);
  if (!b.points(row).empty()) {
    json.Key("events").BeginArray();
    PointReader points(b.points(row));
    for (PackedPoint point; points.Next(point);) {
      json.BeginObject();
      Time(json, "timeUnixNano", point.time_ns);
      Text(json, "name", b.str(point.name));
      const SplitAttributes own = Split(b, point.attrs, FieldsOf::kPointOrLink);
      Attributes(json, own.attributes);
      Count(json, "droppedAttributesCount", own.dropped_attributes);
      json.EndObject();
    }
    json.EndArray();
  }
  Count(json, "droppedEventsCount", split.dropped_events);
  if (!b.links(row).empty()) {
    json.Key("links").BeginArray();
    LinkReader links(b.links(row));
    for (PackedLink link; links.Next(link);) {
      json.BeginObject();
      json.Field("traceId", ToHex(link.trace_id)).Field("spanId", ToHex(link.span_id));
      Text(json, "traceState", b.str(link.tracestate));
      const SplitAttributes own = Split(b, link.attrs, FieldsOf::kPointOrLink);
      std::vector<KeyedValue> ref;
      if (link.ref != 0) {
        ref.push_back({kRowLinkRef, {}});
        ref[0].value.type = ValueType::kInt;
        ref[0].value.integer = link.ref;
      }
      Attributes(json, own.attributes, ref);
      Count(json, "droppedAttributesCount", own.dropped_attributes);
      if (link.flags != 0) json.Field("flags", uint64_t{link.flags});
      json.EndObject();
    }
    json.EndArray();
  }
  Count(json, "droppedLinksCount", split.dropped_links);
  if (b.status[row] != SpanStatus::kUnset || b.status_message[row] != 0) {
    json.Key("status").BeginObject();
    Text(json, "message", b.str(b.status_message[row]));
    json.Field("code", static_cast<int>(b.status[row])).EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string EncodeOtlpJson(const EventBatch& batch, const std::vector<uint32_t>& rows) {
  JsonWriter json;
  json.BeginObject().Key("resourceSpans").BeginArray();
  for (const ProcessGroup& process : GroupRows(batch, rows)) {
    const Process& p = batch.processes[process.process];
    const SplitAttributes fields =
        Split(batch, batch.Slice(p.attrs_begin, p.attrs_end), FieldsOf::kProcess);
    json.BeginObject().Key("resource").BeginObject();
    Attributes(json, fields.attributes, MissingProcessAttributes(batch, process.process));
    Count(json, "droppedAttributesCount", fields.dropped_attributes);
    json.EndObject().Key("scopeSpans").BeginArray();
    for (const ScopeGroup& group : process.scopes) {
      const Scope& s = batch.scopes[group.scope];
      const SplitAttributes own =
          Split(batch, batch.Slice(s.attrs_begin, s.attrs_end), FieldsOf::kScope);
      json.BeginObject().Key("scope").BeginObject();
      Text(json, "name", batch.str(s.name));
      Text(json, "version", batch.str(s.version));
      Attributes(json, own.attributes);
      Count(json, "droppedAttributesCount", own.dropped_attributes);
      json.EndObject().Key("spans").BeginArray();
      for (const uint32_t row : group.rows) Span(json, batch, row);
      json.EndArray();
      Text(json, "schemaUrl", own.schema_url);
      json.EndObject();
    }
    json.EndArray();
    Text(json, "schemaUrl", fields.schema_url);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.Take();
}

}  // namespace wf::otlp
