#include "answer/jaeger/jaeger_trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "answer/frame/attribute_json.h"
#include "base/base64.h"

namespace wf::answer {
namespace {

// JavaScript's exact integers; Jaeger writes others as texts.
constexpr int64_t kMaxSafeInteger = (int64_t{1} << 53) - 1;

// Jaeger's times are unsigned: an instant before 1970 is written as 0.
uint64_t Micros(Nanos time) { return time < 0 ? 0 : static_cast<uint64_t>(time / kMicro); }

void WriteTag(std::string_view key, const Value& value, JsonWriter& out) {
  out.BeginObject().Field("key", key);
  switch (value.type) {
    case ValueType::kBool:
      out.Field("type", "bool").Field("value", value.boolean);
      break;
    case ValueType::kInt:
      out.Field("type", "int64").Key("value");
      if (value.integer > kMaxSafeInteger || value.integer < -kMaxSafeInteger) {
        out.String(std::to_string(value.integer));
      } else {
        out.Int(value.integer);
      }
      break;
    case ValueType::kDouble:
      out.Field("type", "float64").Key("value").Double(value.number);
      break;
    case ValueType::kBytes:
      out.Field("type", "binary").Field("value", Base64Encode(value.text));
      break;
    case ValueType::kString:
    case ValueType::kNull:
      out.Field("type", "string").Field("value", value.text);
      break;
    case ValueType::kArray:
    case ValueType::kMap: {
      JsonWriter nested;
      WriteValue(value, nested);
      out.Field("type", "string").Field("value", nested.Take());
      break;
    }
  }
  out.EndObject();
}

void WriteTextTag(std::string_view key, std::string_view text, JsonWriter& out) {
  Value value;
  value.type = ValueType::kString;
  value.text = text;
  WriteTag(key, value, out);
}

void WriteTags(const EventBatch& batch, std::string_view packed, JsonWriter& out) {
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) WriteTag(batch.str(key), value, out);
}

bool HasKey(const EventBatch& batch, std::string_view packed, std::string_view wanted) {
  const uint32_t code = batch.strings.Find(wanted);
  AttributeReader reader(packed);
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key == code) return true;
  }
  return false;
}

void WriteSpanTags(const EventBatch& batch, size_t row, JsonWriter& out) {
  const std::string_view attrs = batch.attrs(row);
  out.Key("tags").BeginArray();
  WriteTags(batch, attrs, out);
  // A span that came from Jaeger has some of these as attributes already.
  const auto derived = [&](std::string_view key, std::string_view text) {
    if (!text.empty() && !HasKey(batch, attrs, key)) WriteTextTag(key, text, out);
  };
  derived("span.kind", JaegerSpanKind(batch.kind[row]));
  if (batch.status[row] == SpanStatus::kError) {
    if (!HasKey(batch, attrs, "error")) {
      Value yes;
      yes.type = ValueType::kBool;
      yes.boolean = true;
      WriteTag("error", yes, out);
    }
    derived("otel.status_code", "ERROR");
  } else if (batch.status[row] == SpanStatus::kOk) {
    derived("otel.status_code", "OK");
  }
  derived("otel.status_description", batch.str(batch.status_message[row]));
  derived("w3c.tracestate", batch.str(batch.tracestate[row]));
  const Scope& scope = batch.scopes[batch.scope[row]];
  derived("otel.scope.name", batch.str(scope.name));
  derived("otel.scope.version", batch.str(scope.version));
  WriteTags(batch, batch.scope_attrs(row), out);
  out.EndArray();
}

void WriteReference(ParentRef type, TraceId trace, SpanId span, JsonWriter& out) {
  out.BeginObject()
      .Field("refType", type == ParentRef::kChildOf ? "CHILD_OF" : "FOLLOWS_FROM")
      .Field("traceID", ToHex(trace))
      .Field("spanID", ToHex(span))
      .EndObject();
}

void WriteReferences(const EventBatch& batch, size_t row, JsonWriter& out) {
  out.Key("references").BeginArray();
  if (batch.id2[row] != 0) {
    const ParentRef ref = batch.parent_ref[row];
    WriteReference(ref == ParentRef::kFollowsFrom ? ref : ParentRef::kChildOf, batch.trace_id(row),
                   SpanId{batch.id2[row]}, out);
  }
  LinkReader reader(batch.links(row));
  PackedLink link;
  while (reader.Next(link)) {
    const auto ref = static_cast<ParentRef>(link.ref);
    WriteReference(ref == ParentRef::kChildOf ? ref : ParentRef::kFollowsFrom, link.trace_id,
                   link.span_id, out);
  }
  out.EndArray();
}

void WriteLogs(const EventBatch& batch, size_t row, JsonWriter& out) {
  out.Key("logs").BeginArray();
  PointReader reader(batch.points(row));
  PackedPoint point;
  while (reader.Next(point)) {
    out.BeginObject().Field("timestamp", Micros(point.time_ns)).Key("fields").BeginArray();
    const std::string_view name = batch.str(point.name);
    if (!name.empty() && !HasKey(batch, point.attrs, "event")) WriteTextTag("event", name, out);
    WriteTags(batch, point.attrs, out);
    out.EndArray().EndObject();
  }
  out.EndArray();
}

void WriteWarnings(const EventBatch& batch, size_t row, JsonWriter& out) {
  const bool has_end = (batch.marks[row] & kHasEnd) != 0;
  out.Key("warnings");
  if (!has_end) {
    out.BeginArray().String("the span has no end; its duration is shown as 0").EndArray();
  } else if (batch.end_ns[row] < batch.start_ns[row]) {
    out.BeginArray()
        .String("the span ends before it starts; its duration is shown as 0")
        .EndArray();
  } else {
    out.Null();
  }
}

void WriteSpan(const EventBatch& batch, size_t row, const std::string& process, JsonWriter& out) {
  const Nanos start = batch.start_ns[row], end = batch.end_ns[row];
  const bool has_end = (batch.marks[row] & kHasEnd) != 0;
  const uint64_t duration = has_end && end > start ? Micros(SaturatingSub(end, start)) : 0;
  out.BeginObject()
      .Field("traceID", ToHex(batch.trace_id(row)))
      .Field("spanID", ToHex64(batch.id1[row]));
  // The low byte holds W3C's trace flags, which are also Jaeger's sampled bit.
  if (const uint64_t flags = batch.flags[row] & 0xFF) out.Field("flags", flags);
  out.Field("operationName", batch.str(batch.name[row]));
  WriteReferences(batch, row, out);
  out.Field("startTime", Micros(start)).Field("duration", duration);
  WriteSpanTags(batch, row, out);
  WriteLogs(batch, row, out);
  out.Field("processID", process);
  WriteWarnings(batch, row, out);
  out.EndObject();
}

std::string ProcessJson(const EventBatch& batch, const Process& process) {
  JsonWriter out;
  out.BeginObject().Field("serviceName", batch.str(process.service)).Key("tags").BeginArray();
  const uint32_t service_name = batch.strings.Find("service.name");
  AttributeReader reader(batch.Slice(process.attrs_begin, process.attrs_end));
  uint32_t key;
  Value value;
  while (reader.Next(key, value)) {
    if (key != service_name) WriteTag(batch.str(key), value, out);
  }
  out.EndArray().EndObject();
  return out.Take();
}

}  // namespace

std::string_view JaegerSpanKind(SpanKind kind) {
  switch (kind) {
    case SpanKind::kUnspecified:
      return "";
    case SpanKind::kInternal:
      return "internal";
    case SpanKind::kServer:
      return "server";
    case SpanKind::kClient:
      return "client";
    case SpanKind::kProducer:
      return "producer";
    case SpanKind::kConsumer:
      return "consumer";
  }
  return "";
}

void WriteJaegerTrace(const EventBatch& batch, const std::vector<size_t>& rows, JsonWriter& out) {
  // Equal processes are one, wherever the store kept their rows; they are numbered as they come.
  std::unordered_map<uint32_t, std::string> name_of;  // by index in batch.processes
  std::map<std::string, std::string> name_of_json;
  std::vector<std::pair<std::string, std::string>> processes;  // name, JSON
  out.BeginObject();
  out.Field("traceID", rows.empty() ? std::string() : ToHex(batch.trace_id(rows.front())));
  out.Key("spans").BeginArray();
  for (const size_t row : rows) {
    if (batch.type[row] != EventType::kSpan) continue;
    auto [known, is_new] = name_of.try_emplace(batch.process[row]);
    if (is_new) {
      std::string json = ProcessJson(batch, batch.processes[batch.process[row]]);
      auto [same, first] = name_of_json.try_emplace(json, fmt::format("p{}", processes.size() + 1));
      if (first) processes.emplace_back(same->second, std::move(json));
      known->second = same->second;
    }
    WriteSpan(batch, row, known->second, out);
  }
  out.EndArray();
  out.Key("processes").BeginObject();
  for (const auto& [name, json] : processes) out.Key(name).Raw(json);
  out.EndObject();
  out.Key("warnings").Null().EndObject();
}

std::vector<TraceRows> SpansByTrace(const EventBatch& batch) {
  std::vector<TraceRows> traces;
  std::unordered_map<TraceId, size_t> index;
  for (size_t row = 0; row < batch.size(); ++row) {
    if (batch.type[row] != EventType::kSpan) continue;
    const auto [at, is_new] = index.try_emplace(batch.trace_id(row), traces.size());
    if (is_new) traces.push_back({batch.trace_id(row), {}});
    traces[at->second].rows.push_back(row);
  }
  return traces;
}

}  // namespace wf::answer
