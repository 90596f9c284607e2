#include "import/zipkin/zipkin_decoder.h"

#include "import/decode/json_value_packer.h"
#include "import/decode/span_times.h"

namespace wf::zipkin {
namespace {

// Service, address and port of an endpoint, under the names given.
struct EndpointKeys {
  std::string_view service, ip, ipv6, port;
};
constexpr EndpointKeys kLocal = {"service.name", "ip", "ipv6", "port"};
constexpr EndpointKeys kRemote = {"peer.service", "peer.ip", "peer.ipv6", "peer.port"};

void Endpoint(JsonValue endpoint, const EndpointKeys& keys, decode::AttributeWriter& writer) {
  const std::string_view service = endpoint.Get("serviceName").String();
  const std::string_view ipv4 = endpoint.Get("ipv4").String();
  const std::string_view ipv6 = endpoint.Get("ipv6").String();
  if (!service.empty()) writer.Text(keys.service, service);
  if (!ipv4.empty() || !ipv6.empty()) writer.Text(keys.ip, ipv4.empty() ? ipv6 : ipv4);
  if (!ipv4.empty() && !ipv6.empty()) writer.Text(keys.ipv6, ipv6);
  if (const auto port = endpoint.Get("port").IntOrText()) writer.Int(keys.port, *port);
}

SpanKind Kind(std::string_view name, decode::DecodeReport& report) {
  if (name == "CLIENT") return SpanKind::kClient;
  if (name == "SERVER") return SpanKind::kServer;
  if (name == "PRODUCER") return SpanKind::kProducer;
  if (name == "CONSUMER") return SpanKind::kConsumer;
  if (!name.empty()) report.Repair("unknown_kind");
  return SpanKind::kUnspecified;
}

bool IsKnown(std::string_view key) {
  for (const std::string_view known :
       {"traceId", "id", "parentId", "name", "kind", "timestamp", "duration", "debug", "shared",
        "localEndpoint", "remoteEndpoint", "annotations", "tags"}) {
    if (key == known) return true;
  }
  return false;
}

const char* ReadIds(JsonValue span, EventBatch& batch, decode::DecodeReport& report) {
  const auto trace = ParseTraceId(span.Get("traceId").String());
  if (!trace.ok()) return report.NoteFault(trace.error().message), "trace_id_malformed";
  if (trace->zero()) return "trace_id_zero";
  const auto id = ParseSpanId(span.Get("id").String());
  if (!id.ok()) return report.NoteFault(id.error().message), "span_id_malformed";
  if (id->zero()) return "span_id_zero";
  batch.trace_hi.back() = trace->hi;
  batch.trace_lo.back() = trace->lo;
  batch.id1.back() = id->value;
  const std::string_view parent_text = span.Get("parentId").String();
  if (parent_text.empty()) return nullptr;
  const auto parent = ParseSpanId(parent_text);
  if (!parent.ok()) return "parent_id_malformed";
  batch.id2.back() = parent->value;
  if (!parent->zero()) batch.parent_ref.back() = ParentRef::kChildOf;
  return nullptr;
}

std::optional<Nanos> Micros(JsonValue value, decode::DecodeReport& report) {
  if (value.missing() || value.IsNull()) return std::nullopt;
  const auto micros = value.IntOrText();
  if (!micros) {
    report.Repair("bad_field");
    return std::nullopt;
  }
  return decode::ScaleTime(*micros, kMicro, report);
}

}  // namespace

void DecodeZipkinSpan(JsonValue span, decode::AttributeWriter& writer) {
  EventBatch& batch = writer.batch();
  decode::DecodeReport& report = writer.report();
  if (!span.IsObject()) return report.Reject("not_an_object");

  const uint32_t process_begin = batch.ArenaSize();
  writer.StartList(decode::AttributePlace::kProcess);
  Endpoint(span.Get("localEndpoint"), kLocal, writer);
  const uint32_t process = decode::FinishProcess(batch, process_begin);
  const uint32_t scope = decode::FinishScope(batch, 0, 0, batch.ArenaSize());

  batch.AddRow();
  batch.process.back() = process;
  batch.scope.back() = scope;
  if (const char* reason = ReadIds(span, batch, report)) {
    report.Reject(reason);
    return batch.DropLastRow();
  }
  batch.name.back() = writer.Intern(span.Get("name").String());
  batch.kind.back() = Kind(span.Get("kind").String(), report);
  if (span.Get("shared").Bool()) batch.marks.back() |= kSharedSpanId;
  const std::optional<Nanos> start = Micros(span.Get("timestamp"), report);
  const std::optional<Nanos> duration = Micros(span.Get("duration"), report);
  decode::SetTimes(
      batch, start,
      start && duration ? std::optional(SaturatingAdd(*start, *duration)) : std::nullopt);
  for (const auto& [key, value] : span.Members()) {
    if (!IsKnown(key)) report.Repair("unknown_field");
  }

  writer.StartList(decode::AttributePlace::kSpan);
  for (const auto& [key, value] : span.Get("tags").Members()) {
    decode::PackJsonAttribute(key, value, writer);
    if (key == "error" && value.String() != "false" && !(value.IsBool() && !value.Bool())) {
      batch.status.back() = SpanStatus::kError;
      if (value.String() != "true") batch.status_message.back() = writer.Intern(value.String());
    }
  }
  Endpoint(span.Get("remoteEndpoint"), kRemote, writer);
  if (span.Get("debug").Bool()) writer.Bool("zipkin.debug", true);
  if (!start && duration) writer.Int("zipkin.duration_us", *duration / kMicro);
  batch.EndAttributes();

  for (const JsonValue annotation : span.Get("annotations").Elements()) {
    const Nanos time = Micros(annotation.Get("timestamp"), report).value_or(0);
    PutPoint({time, writer.Intern(annotation.Get("value").String()), {}}, batch.bytes);
  }
  batch.EndPoints();
  batch.EndLinks();
  ++report.accepted;
}

Status DecodeZipkinJson(std::string_view body, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report) {
  // A thread keeps its parser's buffers for the next body, but not those of an unusually large one.
  static thread_local JsonParser kept;
  JsonParser own_parser;
  JsonParser& parser = body.size() <= kKeptParserBytes ? kept : own_parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  WF_ASSIGN(const JsonValue root, parser.Parse(body, limits));
  if (!root.IsArray()) {
    return BadInput("Zipkin JSON: the body is not an array of spans",
                    "send [{\"traceId\":...,\"id\":...}, ...]");
  }
  if (parser.repaired_utf8()) report.Repair("bad_utf8");
  decode::AttributeWriter writer(out, options, report);
  for (const JsonValue span : root.Elements()) DecodeZipkinSpan(span, writer);
  return {};
}

}  // namespace wf::zipkin
