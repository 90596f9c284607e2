#include <unordered_map>

#include "base/base64.h"
#include "import/decode/json_value_packer.h"
#include "import/decode/span_times.h"
#include "import/jaeger/jaeger_decoder.h"
#include "import/jaeger/jaeger_row.h"

namespace wf::jaeger {
namespace {

using namespace jaeger;

class TraceDecoder {
 public:
  TraceDecoder(JsonValue trace, decode::AttributeWriter& writer)
      : trace_(trace), writer_(writer), batch_(writer.batch()), report_(writer.report()) {}

  void Run() {
    if (!trace_.IsObject() || !trace_.Get("spans").IsArray())
      return report_.Reject("trace_without_spans");
    for (const JsonValue span : trace_.Get("spans").Elements()) Span(span);
  }

 private:
  uint32_t ProcessOf(JsonValue span) {
    JsonValue process = span.Get("process");  // some dumps carry it in the span
    if (process.IsObject()) return PutProcess(process);
    const std::string_view id = span.Get("processID").String();
    const auto known = processes_.find(id);
    if (known != processes_.end()) return known->second;
    process = trace_.Get("processes").Get(id);
    if (process.missing()) report_.Repair("missing_process");
    return processes_[id] = PutProcess(process);
  }

  uint32_t PutProcess(JsonValue process) {
    const uint32_t begin = batch_.ArenaSize();
    writer_.StartList(decode::AttributePlace::kProcess);
    const std::string_view service = process.Get("serviceName").String();
    if (!service.empty()) writer_.Text("service.name", service);
    Tags(process.Get("tags"), [](std::string_view, const Value&) {});
    return decode::FinishProcess(batch_, begin);
  }

  void Span(JsonValue span) {
    const uint32_t process = ProcessOf(span);
    const uint32_t scope = decode::FinishScope(batch_, 0, 0, batch_.ArenaSize());
    batch_.AddRow();
    batch_.process.back() = process;
    batch_.scope.back() = scope;
    if (const char* reason = ReadIds(span)) {
      report_.Reject(reason);
      return batch_.DropLastRow();
    }
    batch_.name.back() = writer_.Intern(span.Get("operationName").String());
    batch_.flags.back() = static_cast<uint32_t>(span.Get("flags").UintOrText().value_or(0));
    const std::optional<Nanos> start = Micros(span.Get("startTime"));
    const std::optional<Nanos> duration = Micros(span.Get("duration"));
    decode::SetTimes(
        batch_, start,
        start && duration ? std::optional(SaturatingAdd(*start, *duration)) : std::nullopt);
    References(span);
    const size_t parent = ChooseParent(batch_, references_);

    writer_.StartList(decode::AttributePlace::kSpan);
    Tags(span.Get("tags"),
         [&](std::string_view key, const Value& value) { ApplyTag(key, value, writer_); });
    if (!start && duration) writer_.Int("jaeger.duration_us", *duration / kMicro);
    if (span.Get("warnings").size() > 0)
      PackJsonAttribute("jaeger.warnings", span.Get("warnings"), writer_);
    batch_.EndAttributes();
    for (const JsonValue log : span.Get("logs").Elements()) Log(log);
    batch_.EndPoints();
    PutLinks(batch_, references_, parent);
    batch_.EndLinks();
    ++report_.accepted;
  }

  const char* ReadIds(JsonValue span) {
    if (!span.IsObject()) return "not_an_object";
    const auto trace = ParseTraceId(span.Get("traceID").missing() ? trace_.Get("traceID").String()
                                                                  : span.Get("traceID").String());
    if (!trace.ok()) return report_.NoteFault(trace.error().message), "trace_id_malformed";
    if (trace->zero()) return "trace_id_zero";
    const auto id = ParseSpanId(span.Get("spanID").String());
    if (!id.ok()) return report_.NoteFault(id.error().message), "span_id_malformed";
    if (id->zero()) return "span_id_zero";
    batch_.trace_hi.back() = trace->hi;
    batch_.trace_lo.back() = trace->lo;
    batch_.id1.back() = id->value;
    return nullptr;
  }

  void References(JsonValue span) {
    references_.clear();
    const TraceId own = batch_.trace_id(batch_.size() - 1);
    for (const JsonValue element : span.Get("references").Elements()) {
      const JsonValue trace_text = element.Get("traceID");
      const auto trace =
          trace_text.missing() ? Result<TraceId>(own) : ParseTraceId(trace_text.String());
      const auto id = ParseSpanId(element.Get("spanID").String());
      if (!trace.ok() || !id.ok()) {
        report_.Repair("reference_malformed");
        continue;
      }
      const std::string_view type = element.Get("refType").String();
      Reference reference{ParentRef::kChildOf, *trace, *id};
      if (type == "FOLLOWS_FROM") {
        reference.kind = ParentRef::kFollowsFrom;
      } else if (type != "CHILD_OF") {
        reference.kind = ParentRef::kNone;
        report_.Repair("unknown_reference");
      }
      references_.push_back(reference);
    }
    // Before references, Jaeger wrote the parent alone.
    const std::string_view parent = span.Get("parentSpanID").String();
    if (references_.empty() && !parent.empty()) {
      if (const auto id = ParseSpanId(parent); id.ok())
        references_.push_back({ParentRef::kChildOf, own, *id});
    }
  }

  void Log(JsonValue log) {
    LogName name;
    scratch_.clear();
    const Nanos time = Micros(log.Get("timestamp")).value_or(0);
    for (const JsonValue field : log.Get("fields").Elements()) {
      Value value;
      value.type = ValueType::kString;
      value.text = field.Get("value").String();
      if (field.Get("value").IsString()) name.Offer(field.Get("key").String(), value);
    }
    PutFixed64(static_cast<uint64_t>(time), batch_.bytes);
    PutVarint(writer_.Intern(name.text), batch_.bytes);
    const size_t begin = writer_.OpenLength();
    writer_.StartList(decode::AttributePlace::kPoint);
    Tags(log.Get("fields"), [](std::string_view, const Value&) {});
    writer_.CloseNested(begin);
  }

  template <typename Visit>
  void Tags(JsonValue tags, const Visit& visit) {
    for (const JsonValue tag : tags.Elements()) {
      const std::string_view key = tag.Get("key").String();
      Value value;
      if (TypedValue(tag.Get("type").String(), tag.Get("value"), value)) {
        PutTag(key, value, writer_);
        visit(key, value);
      } else {
        PackJsonAttribute(key, tag.Get("value"), writer_);
      }
    }
  }

  // False when the value does not fit its type: it is then kept as the JSON it is.
  bool TypedValue(std::string_view type, JsonValue json, Value& value) {
    if (type == "int64") {
      const auto number = json.IntOrText();
      value.type = ValueType::kInt;
      value.integer = number.value_or(0);
      return number.has_value();
    }
    if (type == "float64") {
      const auto number = json.NumberOrText();
      value.type = ValueType::kDouble;
      value.number = number.value_or(0);
      return number.has_value();
    }
    if (type == "bool") {
      value.type = ValueType::kBool;
      value.boolean = json.Bool() || json.String() == "true";
      return json.IsBool() || json.String() == "true" || json.String() == "false";
    }
    if (type == "binary") {
      auto bytes = Base64Decode(json.String());
      if (!bytes || !json.IsString()) return false;
      scratch_ = std::move(*bytes);
      value.type = ValueType::kBytes;
      value.text = scratch_;
      return true;
    }
    value.type = ValueType::kString;
    value.text = json.String();
    return json.IsString();
  }

  std::optional<Nanos> Micros(JsonValue value) {
    if (value.missing() || value.IsNull()) return std::nullopt;
    const auto micros = value.IntOrText();
    if (!micros) {
      report_.Repair("bad_field");
      return std::nullopt;
    }
    return ScaleTime(*micros, kMicro, report_);
  }

  JsonValue trace_;
  decode::AttributeWriter& writer_;
  EventBatch& batch_;
  decode::DecodeReport& report_;
  // processID → index; keys live in the document.
  std::unordered_map<std::string_view, uint32_t> processes_;
  std::vector<Reference> references_;
  std::string scratch_;
};

}  // namespace

void DecodeJaegerTrace(JsonValue trace, decode::AttributeWriter& writer) {
  TraceDecoder(trace, writer).Run();
}

Status DecodeJaegerJson(std::string_view body, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report) {
  // A thread keeps its parser's buffers for the next body, but not those of an unusually large one.
  static thread_local JsonParser kept;
  JsonParser own_parser;
  JsonParser& parser = body.size() <= kKeptParserBytes ? kept : own_parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  WF_ASSIGN(const JsonValue root, parser.Parse(body, limits));
  const JsonValue traces = root.IsArray() ? root : root.Get("data");
  if (!traces.IsArray() && !root.Get("spans").IsArray()) {
    return BadInput("Jaeger JSON: neither {\"data\":[traces]} nor a trace with \"spans\"",
                    "give the JSON of Jaeger's /api/traces or of its UI's download");
  }
  if (parser.repaired_utf8()) report.Repair("bad_utf8");
  decode::AttributeWriter writer(out, options, report);
  if (traces.IsArray()) {
    for (const JsonValue trace : traces.Elements()) DecodeJaegerTrace(trace, writer);
  } else {
    DecodeJaegerTrace(root, writer);
  }
  return {};
}

}  // namespace wf::jaeger
