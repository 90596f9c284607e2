#include "import/events/events_decoder.h"

#include <fmt/format.h>

#include <iterator>

#include "base/hash.h"
#include "import/decode/json_value_packer.h"
#include "json/json_splitter.h"

namespace wf::events {
namespace {

struct EventId {
  uint64_t value = 0;
  std::string original;  // set when the value is a hash of it
};

// A text or a number; null and absent are 0.
EventId ReadId(JsonValue json) {
  EventId id;
  std::string text(json.String());
  if (const auto number = json.UintOrText(); number && !json.IsString())
    text = std::to_string(*number);
  if (text.empty()) return id;
  if (const auto parsed = ParseSpanId(text); parsed.ok()) {
    id.value = parsed->value;
    return id;
  }
  id.value = HashBytes(text);
  if (id.value == 0) id.value = 1;  // 0 means none
  id.original = std::move(text);
  return id;
}

uint32_t PutProcess(JsonValue annotations, decode::AttributeWriter& writer) {
  const uint32_t begin = writer.batch().ArenaSize();
  writer.StartList(decode::AttributePlace::kProcess);
  const std::string_view service = annotations.Get("label:service").String();
  const std::string_view host = annotations.Get("label:host").String();
  if (!service.empty()) writer.Text("service.name", service);
  if (!host.empty()) writer.Text("host.name", host);
  return decode::FinishProcess(writer.batch(), begin);
}

// What OTLP calls a span's kind; a block that says it is a client's is one whose own time is the network's.
SpanKind ReadKind(std::string_view name) {
  static constexpr std::string_view kNames[] = {"",       "internal", "server",
                                                "client", "producer", "consumer"};
  for (uint8_t kind = 1; kind < std::size(kNames); ++kind) {
    if (kNames[kind] == name) return static_cast<SpanKind>(kind);
  }
  return SpanKind::kUnspecified;
}

}  // namespace

void DecodeEvent(JsonValue event, decode::AttributeWriter& writer) {
  EventBatch& batch = writer.batch();
  decode::DecodeReport& report = writer.report();
  if (!event.IsObject()) return report.Reject("not_an_object");
  const auto trace = ParseTraceId(event.Get("trace_id").String());
  if (!trace.ok())
    return report.NoteFault(trace.error().message), report.Reject("trace_id_malformed");
  if (trace->zero()) return report.Reject("trace_id_zero");
  const std::string_view type_name = event.Get("type").String();
  if (type_name.empty()) return report.Reject("type_missing");
  const EventId id1 = ReadId(event.Get("id1")), id2 = ReadId(event.Get("id2"));
  if (id1.value == 0) return report.Reject("id1_missing");

  const JsonValue annotations = event.Get("annotations");
  const uint32_t process = PutProcess(annotations, writer);
  const uint32_t scope = decode::FinishScope(batch, 0, 0, batch.ArenaSize());
  batch.AddRow();
  batch.process.back() = process;
  batch.scope.back() = scope;
  batch.trace_hi.back() = trace->hi;
  batch.trace_lo.back() = trace->lo;
  batch.id1.back() = id1.value;
  batch.id2.back() = id2.value;
  EventType type = wherefore::ParseEventType(type_name);
  if (type == EventType::kSpan)
    type = EventType::kUnknown;  // spans come in the formats made for them
  batch.type.back() = type;
  if (type == EventType::kBlockBegin)
    batch.kind.back() = ReadKind(annotations.Get("label:kind").String());
  // Where searches look for what a trace is called.
  if (type == EventType::kBlockBegin || type == EventType::kUnitBegin)
    batch.name.back() = batch.strings.Intern(annotations.Get("label:name").String());
  if (const auto time = event.Get("time_ns").IntOrText()) {
    batch.start_ns.back() = *time;
    batch.marks.back() = kHasStart;
  } else {
    report.Repair("time_missing");
  }
  if (const auto sequence = event.Get("seq").IntOrText()) batch.SetSequence(*sequence);

  writer.StartList(decode::AttributePlace::kSpan);
  for (const auto& [key, value] : annotations.Members())
    decode::PackJsonAttribute(key, value, writer);
  if (!id1.original.empty()) writer.Text("wherefore.id1", id1.original);
  if (!id2.original.empty()) writer.Text("wherefore.id2", id2.original);
  if (type == EventType::kUnknown) {
    writer.Text("wherefore.type", type_name);
    report.Repair("unknown_event_type");
  }
  batch.EndAttributes();
  batch.EndPoints();
  batch.EndLinks();
  ++report.accepted;
}

Status DecodeEventsJson(std::string_view lines, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report) {
  const decode::BatchMark mark(out);
  decode::DecodeReport own;
  decode::AttributeWriter writer(out, options, own);
  JsonParser parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  JsonSplitter pieces = JsonSplitter::Sequence(lines);
  std::string_view piece;
  while (pieces.Next(piece)) {
    const auto event = parser.Parse(piece, limits);
    if (!event.ok()) {
      mark.RollBack(out);
      return BadInput(
          fmt::format("events: value at byte {}: {}", pieces.offset(), event.error().message),
          "each line is one event: {\"trace_id\",\"type\",\"id1\",\"time_ns\",…}");
    }
    if (parser.repaired_utf8()) own.Repair("bad_utf8");
    DecodeEvent(*event, writer);
  }
  report.Add(own);
  return {};
}

void DecodeEventLines(std::string_view lines, const decode::DecodeOptions& options, EventBatch& out,
                      decode::DecodeReport& report, std::vector<LineFault>& faults) {
  decode::DecodeReport of_line;
  decode::AttributeWriter writer(out, options, of_line);
  JsonParser parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  for (int64_t number = 1; !lines.empty(); ++number) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    of_line = decode::DecodeReport();
    if (const auto event = parser.Parse(line, limits); event.ok()) {
      if (parser.repaired_utf8()) of_line.Repair("bad_utf8");
      DecodeEvent(*event, writer);
    } else {
      of_line.NoteFault(event.error().message);
      of_line.Reject("malformed_line");
    }
    if (of_line.rejected != 0) {
      if (of_line.first_fault.empty()) of_line.first_fault = of_line.reasons.begin()->first;
      if (faults.size() < kMaxLineFaults) faults.push_back({number, of_line.first_fault});
      of_line.first_fault = fmt::format("line {}: {}", number, of_line.first_fault);
    }
    report.Add(of_line);
  }
}

}  // namespace wf::events
