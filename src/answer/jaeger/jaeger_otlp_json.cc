// The JSON mapping of protobuf as OTLP bends it: ids are hex, enums are numbers, 64-bit integers
// are texts, fields with their default value are left out.
#include "answer/jaeger/jaeger_otlp_json.h"

#include <string>
#include <unordered_map>

#include "base/base64.h"

namespace wf::answer {
namespace {

std::string UnsignedText(Nanos time) { return std::to_string(time < 0 ? 0 : time); }

// Senders nest values as deep as they like; what is deeper than any honest use is left out, not worth our stack.
constexpr int kMaxDepth = 64;

void WriteAnyValue(const Value& value, JsonWriter& out, int depth = 0) {
  out.BeginObject();
  if (depth > kMaxDepth) {
    out.Field("stringValue", "…").EndObject();
    return;
  }
  switch (value.type) {
    case ValueType::kNull:
      break;
    case ValueType::kString:
      out.Field("stringValue", value.text);
      break;
    case ValueType::kBool:
      out.Field("boolValue", value.boolean);
      break;
    case ValueType::kInt:
      out.Field("intValue", std::to_string(value.integer));
      break;
    case ValueType::kDouble:
      out.Key("doubleValue").Double(value.number);
      break;
    case ValueType::kBytes:
      out.Field("bytesValue", Base64Encode(value.text));
      break;
    case ValueType::kArray: {
      out.Key("arrayValue").BeginObject().Key("values").BeginArray();
      ArrayReader reader(value.text);
      Value element;
      while (reader.Next(element)) WriteAnyValue(element, out, depth + 1);
      out.EndArray().EndObject();
      break;
    }
    case ValueType::kMap: {
      out.Key("kvlistValue").BeginObject().Key("values").BeginArray();
      MapReader reader(value.text);
      std::string_view key;
      Value element;
      while (reader.Next(key, element)) {
        out.BeginObject().Field("key", key).Key("value");
        WriteAnyValue(element, out, depth + 1);
        out.EndObject();
      }
      out.EndArray().EndObject();
      break;
    }
  }
  out.EndObject();
}

void WriteAttributes(const EventBatch& batch, std::string_view packed, JsonWriter& out) {
  if (packed.empty()) return;
  out.Key("attributes").BeginArray();
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    out.BeginObject().Field("key", batch.str(key)).Key("value");
    WriteAnyValue(value, out);
    out.EndObject();
  }
  out.EndArray();
}

void WriteEvents(const EventBatch& batch, std::string_view packed, JsonWriter& out) {
  if (packed.empty()) return;
  out.Key("events").BeginArray();
  PointReader reader(packed);
  PackedPoint point;
  while (reader.Next(point)) {
    out.BeginObject()
        .Field("timeUnixNano", UnsignedText(point.time_ns))
        .Field("name", batch.str(point.name));
    WriteAttributes(batch, point.attrs, out);
    out.EndObject();
  }
  out.EndArray();
}

void WriteLinks(const EventBatch& batch, std::string_view packed, JsonWriter& out) {
  if (packed.empty()) return;
  out.Key("links").BeginArray();
  LinkReader reader(packed);
  PackedLink link;
  while (reader.Next(link)) {
    out.BeginObject().Field("traceId", ToHex(link.trace_id)).Field("spanId", ToHex(link.span_id));
    if (link.tracestate != 0) out.Field("traceState", batch.str(link.tracestate));
    WriteAttributes(batch, link.attrs, out);
    if (link.flags != 0) out.Field("flags", static_cast<uint64_t>(link.flags));
    out.EndObject();
  }
  out.EndArray();
}

void WriteOtlpSpan(const EventBatch& batch, size_t row, JsonWriter& out) {
  out.BeginObject()
      .Field("traceId", ToHex(batch.trace_id(row)))
      .Field("spanId", ToHex64(batch.id1[row]));
  if (batch.tracestate[row] != 0) out.Field("traceState", batch.str(batch.tracestate[row]));
  if (batch.id2[row] != 0) out.Field("parentSpanId", ToHex64(batch.id2[row]));
  if (batch.flags[row] != 0) out.Field("flags", static_cast<uint64_t>(batch.flags[row]));
  out.Field("name", batch.str(batch.name[row]));
  if (batch.kind[row] != SpanKind::kUnspecified)
    out.Field("kind", static_cast<int>(batch.kind[row]));
  out.Field("startTimeUnixNano", UnsignedText(batch.start_ns[row]));
  if ((batch.marks[row] & kHasEnd) != 0)
    out.Field("endTimeUnixNano", UnsignedText(batch.end_ns[row]));
  WriteAttributes(batch, batch.attrs(row), out);
  WriteEvents(batch, batch.points(row), out);
  WriteLinks(batch, batch.links(row), out);
  out.Key("status").BeginObject();
  if (batch.status_message[row] != 0) out.Field("message", batch.str(batch.status_message[row]));
  if (batch.status[row] != SpanStatus::kUnset)
    out.Field("code", static_cast<int>(batch.status[row]));
  out.EndObject().EndObject();
}

// Rows by a column's value, in the order in which the values appear.
std::vector<std::vector<size_t>> GroupBy(const std::vector<size_t>& rows,
                                         const std::vector<uint32_t>& column) {
  std::vector<std::vector<size_t>> groups;
  std::unordered_map<uint32_t, size_t> index;
  for (const size_t row : rows) {
    const auto [at, is_new] = index.try_emplace(column[row], groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(row);
  }
  return groups;
}

void WriteScopeSpans(const EventBatch& batch, const std::vector<size_t>& rows, JsonWriter& out) {
  const size_t first = rows.front();
  const Scope& scope = batch.scopes[batch.scope[first]];
  out.BeginObject().Key("scope").BeginObject();
  if (scope.name != 0) out.Field("name", batch.str(scope.name));
  if (scope.version != 0) out.Field("version", batch.str(scope.version));
  WriteAttributes(batch, batch.scope_attrs(first), out);
  out.EndObject().Key("spans").BeginArray();
  for (const size_t row : rows) WriteOtlpSpan(batch, row, out);
  out.EndArray().EndObject();
}

void WriteResource(const EventBatch& batch, size_t row, JsonWriter& out) {
  out.Key("resource").BeginObject().Key("attributes").BeginArray();
  const uint32_t service_name = batch.strings.Find("service.name");
  bool has_service = false;
  AttributeReader reader(batch.process_attrs(row));
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    has_service |= key == service_name;
    out.BeginObject().Field("key", batch.str(key)).Key("value");
    WriteAnyValue(value, out);
    out.EndObject();
  }
  // Zipkin and Jaeger name the service beside the attributes.
  const uint32_t service = batch.processes[batch.process[row]].service;
  if (!has_service && service != 0) {
    out.BeginObject().Field("key", "service.name").Key("value").BeginObject();
    out.Field("stringValue", batch.str(service)).EndObject().EndObject();
  }
  out.EndArray().EndObject();
}

}  // namespace

void WriteResourceSpans(const EventBatch& batch, const std::vector<TraceRows>& traces,
                        JsonWriter& out) {
  out.BeginArray();
  for (const TraceRows& trace : traces) {
    for (const std::vector<size_t>& process_rows : GroupBy(trace.rows, batch.process)) {
      out.BeginObject();
      WriteResource(batch, process_rows.front(), out);
      out.Key("scopeSpans").BeginArray();
      for (const std::vector<size_t>& scope_rows : GroupBy(process_rows, batch.scope)) {
        WriteScopeSpans(batch, scope_rows, out);
      }
      out.EndArray().EndObject();
    }
  }
  out.EndArray();
}

}  // namespace wf::answer
