// OTLP/JSON. Unknown fields are ignored and counted, as the OTLP specification asks; a field of the wrong type is
// left at its default and counted as bad_field.
#include <fmt/format.h>

#include "base/base64.h"
#include "import/decode/attribute_writer.h"
#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_row.h"
#include "json/json_reader.h"

namespace wf::otlp {
namespace {

using namespace otlp;

// An AnyValue takes three levels of JSON a level; what the value depth limit allows must parse.
constexpr size_t kMaxJsonDepth = 1024;

constexpr std::string_view kKindNames[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
                                           "SPAN_KIND_SERVER",      "SPAN_KIND_CLIENT",
                                           "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};
constexpr std::string_view kStatusNames[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
                                             "STATUS_CODE_ERROR"};

class JsonDecoder {
 public:
  JsonDecoder(const decode::DecodeOptions& options, EventBatch& out, decode::DecodeReport& report)
      : batch_(out),
        report_(report),
        writer_(out, options, report),
        max_depth_(options.max_value_depth) {}

  Status Request(JsonValue request) {
    const JsonValue resource_spans = request.Get("resourceSpans", "resource_spans");
    if (!request.IsObject() ||
        !(resource_spans.IsArray() || (resource_spans.missing() && request.size() == 0))) {
      return BadInput("OTLP JSON: the body is not an object with an array \"resourceSpans\"",
                      "send an ExportTraceServiceRequest: {\"resourceSpans\":[...]}");
    }
    for (const JsonValue element : resource_spans.Elements()) ResourceSpans(element);
    return {};
  }

 private:
  void BadField() { report_.Repair("bad_field"); }
  void UnknownField() { report_.Repair("unknown_field"); }

  // Names come as camelCase from most senders and as snake_case from some.
  static bool Is(std::string_view key, std::string_view camel, std::string_view snake = {}) {
    return key == camel || (!snake.empty() && key == snake);
  }

  void ResourceSpans(JsonValue rs) {
    const uint32_t attrs_begin = batch_.ArenaSize();
    writer_.StartList(decode::AttributePlace::kProcess);
    const JsonValue resource = rs.Get("resource");
    Attributes(resource.Get("attributes"), decode::AttributePlace::kProcess, nullptr);
    Dropped(kDroppedAttributes, resource.Get("droppedAttributesCount", "dropped_attributes_count"));
    SchemaUrl(rs.Get("schemaUrl", "schema_url"));
    const uint32_t process = decode::FinishProcess(batch_, attrs_begin);
    for (const auto& [key, value] : rs.Members()) {
      if (Is(key, "scopeSpans", "scope_spans") ||
          Is(key, "instrumentationLibrarySpans", "instrumentation_library_spans")) {
        for (const JsonValue scope_spans : value.Elements()) ScopeSpans(scope_spans, process);
      } else if (!Is(key, "resource") && !Is(key, "schemaUrl", "schema_url")) {
        UnknownField();
      }
    }
  }

  void ScopeSpans(JsonValue ss, uint32_t process) {
    const uint32_t attrs_begin = batch_.ArenaSize();
    writer_.StartList(decode::AttributePlace::kScope);
    JsonValue scope = ss.Get("scope", "instrumentationLibrary");
    if (scope.missing()) scope = ss.Get("instrumentation_library");
    Attributes(scope.Get("attributes"), decode::AttributePlace::kScope, nullptr);
    Dropped(kDroppedAttributes, scope.Get("droppedAttributesCount", "dropped_attributes_count"));
    SchemaUrl(ss.Get("schemaUrl", "schema_url"));
    const uint32_t index =
        decode::FinishScope(batch_, writer_.Intern(scope.Get("name").String()),
                            writer_.Intern(scope.Get("version").String()), attrs_begin);
    for (const JsonValue span : ss.Get("spans").Elements()) Span(span, process, index);
  }

  void Span(JsonValue span, uint32_t process, uint32_t scope) {
    batch_.AddRow();
    batch_.process.back() = process;
    batch_.scope.back() = scope;
    SpanState state;
    JsonValue attributes, events, links, dropped_attributes, dropped_events, dropped_links;
    for (const auto& [key, value] : span.Members()) {
      if (Is(key, "traceId", "trace_id")) {
        TraceIdField(value, state);
      } else if (Is(key, "spanId", "span_id")) {
        state.span_id_ok = true;
        SpanIdField(value, batch_.id1.back(), state, "span_id_malformed");
      } else if (Is(key, "parentSpanId", "parent_span_id")) {
        SpanIdField(value, batch_.id2.back(), state, "parent_span_id_malformed");
      } else if (Is(key, "traceState", "trace_state")) {
        batch_.tracestate.back() = TextField(value);
      } else if (Is(key, "name")) {
        batch_.name.back() = TextField(value);
      } else if (Is(key, "kind")) {
        SetKind(batch_, EnumField(value, kKindNames, std::size(kKindNames)), report_);
      } else if (Is(key, "startTimeUnixNano", "start_time_unix_nano")) {
        batch_.start_ns.back() = TimeField(value);
      } else if (Is(key, "endTimeUnixNano", "end_time_unix_nano")) {
        batch_.end_ns.back() = TimeField(value);
      } else if (Is(key, "attributes")) {
        attributes = value;
      } else if (Is(key, "events")) {
        events = value;
      } else if (Is(key, "links")) {
        links = value;
      } else if (Is(key, "droppedAttributesCount", "dropped_attributes_count")) {
        dropped_attributes = value;
      } else if (Is(key, "droppedEventsCount", "dropped_events_count")) {
        dropped_events = value;
      } else if (Is(key, "droppedLinksCount", "dropped_links_count")) {
        dropped_links = value;
      } else if (Is(key, "status")) {
        StatusFields(value);
      } else if (Is(key, "flags")) {
        batch_.flags.back() = Number32(value);
      } else {
        UnknownField();
      }
    }
    writer_.StartList(decode::AttributePlace::kSpan);
    Attributes(attributes, decode::AttributePlace::kSpan, &state);
    Dropped(kDroppedAttributes, dropped_attributes);
    Dropped(kDroppedEvents, dropped_events);
    Dropped(kDroppedLinks, dropped_links);
    batch_.EndAttributes();
    for (const JsonValue event : events.Elements()) Point(event);
    batch_.EndPoints();
    for (const JsonValue link : links.Elements()) Link(link, state);
    batch_.EndLinks();
    FinishSpan(batch_, state, report_);
  }

  void StatusFields(JsonValue status) {
    for (const auto& [key, value] : status.Members()) {
      if (Is(key, "message")) {
        batch_.status_message.back() = TextField(value);
      } else if (Is(key, "code")) {
        SetStatus(batch_, EnumField(value, kStatusNames, std::size(kStatusNames)), report_);
      } else {
        UnknownField();
      }
    }
  }

  void Point(JsonValue event) {
    PutFixed64(static_cast<uint64_t>(TimeField(event.Get("timeUnixNano", "time_unix_nano"))),
               batch_.bytes);
    PutVarint(TextField(event.Get("name")), batch_.bytes);
    const size_t begin = writer_.OpenLength();
    writer_.StartList(decode::AttributePlace::kPoint);
    Attributes(event.Get("attributes"), decode::AttributePlace::kPoint, nullptr);
    Dropped(kDroppedAttributes, event.Get("droppedAttributesCount", "dropped_attributes_count"));
    writer_.CloseNested(begin);
  }

  void Link(JsonValue value, SpanState& state) {
    PackedLink link;
    const std::string_view trace = value.Get("traceId", "trace_id").String();
    const std::string_view span = value.Get("spanId", "span_id").String();
    if (const auto id = ParseTraceId(trace); id.ok()) {
      link.trace_id = *id;
    } else if (!trace.empty()) {
      report_.Repair("link_trace_id_malformed");
    }
    if (const auto id = ParseSpanId(span); id.ok()) {
      link.span_id = *id;
    } else if (!span.empty()) {
      report_.Repair("link_span_id_malformed");
    }
    link.flags = Number32(value.Get("flags"));
    link.tracestate = TextField(value.Get("traceState", "trace_state"));
    const size_t header = batch_.bytes.size();
    PutLink(link, batch_.bytes);
    const size_t begin = batch_.bytes.size();
    state.link_ref = 0;
    writer_.StartList(decode::AttributePlace::kLink);
    Attributes(value.Get("attributes"), decode::AttributePlace::kLink, &state);
    Dropped(kDroppedAttributes, value.Get("droppedAttributesCount", "dropped_attributes_count"));
    batch_.bytes[header + kPackedLinkRefOffset] = static_cast<char>(state.link_ref);
    writer_.CloseNested(begin);
  }

  void Attributes(JsonValue list, decode::AttributePlace place, SpanState* state) {
    if (!list.missing() && !list.IsArray() && !list.IsNull()) BadField();
    for (const JsonValue pair : list.Elements()) {
      writer_.Begin(pair.Get("key").String());
      AnyValue(pair.Get("value"), 0);
      writer_.End();
      if (state != nullptr && writer_.is_row_key()) RestoreRowAttribute(writer_, place, *state);
    }
  }

  void AnyValue(JsonValue any, int depth) {
    const size_t mark = batch_.bytes.size();
    writer_.PutNull();
    for (const auto& [key, value] : any.Members()) {
      batch_.bytes.resize(mark);  // of a oneof given twice the last holds
      if (Is(key, "stringValue", "string_value")) {
        if (!value.IsString()) BadField();
        writer_.PutText(value.String());
      } else if (Is(key, "intValue", "int_value")) {
        Either(value.IntOrText(), [&](int64_t number) { PutInt(number, batch_.bytes); });
      } else if (Is(key, "boolValue", "bool_value")) {
        if (!value.IsBool()) BadField();
        PutBool(value.Bool(), batch_.bytes);
      } else if (Is(key, "doubleValue", "double_value")) {
        Either(value.NumberOrText(), [&](double number) { PutDouble(number, batch_.bytes); });
      } else if (Is(key, "bytesValue", "bytes_value")) {
        Either(Base64Decode(value.String()),
               [&](const std::string& bytes) { writer_.PutText(bytes, ValueType::kBytes); });
      } else if (Is(key, "arrayValue", "array_value")) {
        Nested(value, ValueType::kArray, depth + 1);
      } else if (Is(key, "kvlistValue", "kvlist_value")) {
        Nested(value, ValueType::kMap, depth + 1);
      } else {
        writer_.PutNull();
        UnknownField();
      }
    }
  }

  // Writes the value, or null when there is none.
  template <typename T, typename Write>
  void Either(const std::optional<T>& value, const Write& write) {
    if (value.has_value()) {
      write(*value);
    } else {
      BadField();
      writer_.PutNull();
    }
  }

  void Nested(JsonValue list, ValueType type, int depth) {
    if (depth > max_depth_) {
      writer_.PutNull();
      report_.Repair("deep_value");
      return;
    }
    const size_t begin = writer_.OpenNested(type);
    for (const JsonValue element : list.Get("values").Elements()) {
      if (type == ValueType::kArray) {
        AnyValue(element, depth);
      } else {
        writer_.PutMapKey(element.Get("key").String());
        AnyValue(element.Get("value"), depth);
      }
    }
    writer_.CloseNested(begin);
  }

  void Dropped(std::string_view key, JsonValue value) {
    if (const uint32_t count = Number32(value); count != 0) writer_.Int(key, count);
  }
  void SchemaUrl(JsonValue value) {
    if (!value.String().empty()) writer_.Text(kSchemaUrl, value.String());
  }

  void TraceIdField(JsonValue value, SpanState& state) {
    state.trace_id_ok = true;
    if (value.IsNull() || (value.IsString() && value.String().empty())) return;
    const auto id = ParseTraceId(value.String());
    if (!id.ok()) {
      report_.NoteFault(id.error().message);
      state.rejected = "trace_id_malformed";
      return;
    }
    batch_.trace_hi.back() = id->hi;
    batch_.trace_lo.back() = id->lo;
  }
  void SpanIdField(JsonValue value, uint64_t& out, SpanState& state, const char* reason) {
    if (value.IsNull() || (value.IsString() && value.String().empty())) return;
    const auto id = ParseSpanId(value.String());
    if (id.ok()) {
      out = id->value;
    } else {
      report_.NoteFault(id.error().message);
      state.rejected = reason;
    }
  }
  uint32_t TextField(JsonValue value) {
    if (!value.missing() && !value.IsString() && !value.IsNull()) BadField();
    return writer_.Intern(value.String());
  }
  uint32_t Number32(JsonValue value) {
    if (value.missing() || value.IsNull()) return 0;
    const std::optional<uint64_t> number = value.UintOrText();
    if (!number || *number > UINT32_MAX) return BadField(), 0;
    return static_cast<uint32_t>(*number);
  }
  int64_t EnumField(JsonValue value, const std::string_view* names, size_t count) {
    if (value.IsNull()) return 0;
    for (size_t i = 0; value.IsString() && i < count; ++i) {
      if (value.String() == names[i]) return static_cast<int64_t>(i);
    }
    return value.IntOrText().value_or(-1);
  }
  int64_t TimeField(JsonValue value) {
    if (value.missing() || value.IsNull()) return 0;
    if (const auto time = value.UintOrText()) {
      if (*time > static_cast<uint64_t>(INT64_MAX)) report_.Repair("time_beyond_2262");
      return static_cast<int64_t>(*time);
    }
    if (const auto time = value.IntOrText()) return *time;
    BadField();
    return 0;
  }

  EventBatch& batch_;
  decode::DecodeReport& report_;
  decode::AttributeWriter writer_;
  const int max_depth_;
};

JsonLimits OtlpLimits() {
  JsonLimits limits;
  limits.max_depth = kMaxJsonDepth;
  limits.max_bytes = size_t{512} << 20;  // offsets inside a batch are 32 bits
  limits.repair_utf8 = true;
  return limits;
}

}  // namespace

Status DecodeOtlpJson(std::string_view request, const decode::DecodeOptions& options,
                      EventBatch& out, decode::DecodeReport& report) {
  // A thread keeps its parser's buffers for the next body, but not those of an unusually large one.
  static thread_local JsonParser kept;
  JsonParser own_parser;
  JsonParser& parser = request.size() <= kKeptParserBytes ? kept : own_parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(request, OtlpLimits()));
  decode::DecodeReport own;
  if (parser.repaired_utf8()) own.Repair("bad_utf8");
  WF_TRY(JsonDecoder(options, out, own).Request(root));
  report.Add(own);
  return {};
}

Result<int64_t> CountOtlpLogsJson(std::string_view request) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(request, OtlpLimits()));
  int64_t records = 0;
  for (const JsonValue resource : root.Get("resourceLogs", "resource_logs").Elements()) {
    for (const JsonValue scope : resource.Get("scopeLogs", "scope_logs").Elements()) {
      for ([[maybe_unused]] const JsonValue record :
           scope.Get("logRecords", "log_records").Elements())
        ++records;
    }
  }
  return records;
}

Result<int64_t> CountOtlpMetricsJson(std::string_view request) {
  JsonParser parser;
  WF_ASSIGN(const JsonValue root, parser.Parse(request, OtlpLimits()));
  int64_t points = 0;
  for (const JsonValue resource : root.Get("resourceMetrics", "resource_metrics").Elements()) {
    for (const JsonValue scope : resource.Get("scopeMetrics", "scope_metrics").Elements()) {
      for (const JsonValue metric : scope.Get("metrics").Elements()) {
        for (const auto& [key, data] : metric.Members()) {
          for ([[maybe_unused]] const JsonValue point :
               data.Get("dataPoints", "data_points").Elements())
            ++points;
        }
      }
    }
  }
  return points;
}

}  // namespace wf::otlp
