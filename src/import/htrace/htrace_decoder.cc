#include "import/htrace/htrace_decoder.h"

#include <fmt/format.h>

#include "import/decode/json_value_packer.h"
#include "import/decode/span_times.h"
#include "json/json_splitter.h"

namespace wf::htrace {
namespace {

struct HTraceId {
  TraceId trace;
  SpanId span;
};

// "a" of HTrace 4: both ids in one text.
std::optional<HTraceId> SplitId(std::string_view text) {
  const auto id = ParseTraceId(text);
  if (text.size() != 32 || !id.ok()) return std::nullopt;
  return HTraceId{{0, id->hi}, {id->lo}};
}

const char* ReadIds(JsonValue span, HTraceId& out, decode::DecodeReport& report) {
  const JsonValue joined = span.Get("a");
  if (!joined.missing()) {
    const auto id = SplitId(joined.String());
    if (!id) {
      report.NoteFault("span id \"" + std::string(joined.String().substr(0, 64)) +
                       "\" is not 32 hexadecimal digits");
      return "span_id_malformed";
    }
    out = *id;
  } else {
    const auto trace = ParseTraceId(span.Get("i").String());
    if (!trace.ok()) return report.NoteFault(trace.error().message), "trace_id_malformed";
    const auto id = ParseSpanId(span.Get("s").String());
    if (!id.ok()) return report.NoteFault(id.error().message), "span_id_malformed";
    out = {*trace, *id};
  }
  if (out.trace.zero()) return "trace_id_zero";
  if (out.span.zero()) return "span_id_zero";
  return nullptr;
}

std::optional<Nanos> Millis(JsonValue value, decode::DecodeReport& report) {
  if (value.missing() || value.IsNull()) return std::nullopt;
  const auto millis = value.IntOrText();
  if (!millis) {
    report.Repair("bad_field");
    return std::nullopt;
  }
  return decode::ScaleTime(*millis, kMilli, report);
}

uint32_t PutProcess(std::string_view tracer, decode::AttributeWriter& writer) {
  const uint32_t begin = writer.batch().ArenaSize();
  writer.StartList(decode::AttributePlace::kProcess);
  if (!tracer.empty()) {
    const size_t slash = tracer.rfind('/');
    const bool has_host = slash != std::string_view::npos && slash > 0 && slash + 1 < tracer.size();
    writer.Text("service.name", has_host ? tracer.substr(0, slash) : tracer);
    if (has_host) writer.Text("ip", tracer.substr(slash + 1));
    writer.Text("htrace.tracer_id", tracer);
  }
  return decode::FinishProcess(writer.batch(), begin);
}

// Sets the parent of the last row and collects the others.
void Parents(JsonValue span, const HTraceId& own, EventBatch& batch, decode::DecodeReport& report,
             std::vector<HTraceId>& others) {
  const bool joined = !span.Get("a").missing();
  for (const JsonValue parent : span.Get("p").Elements()) {
    std::optional<HTraceId> id;
    if (joined) {
      id = SplitId(parent.String());
    } else if (const auto parsed = ParseSpanId(parent.String()); parsed.ok()) {
      id = HTraceId{own.trace, *parsed};
    }
    if (!id) {
      report.Repair("parent_malformed");
    } else if (batch.id2.back() == 0 && id->trace == own.trace && !id->span.zero()) {
      batch.id2.back() = id->span.value;
      batch.parent_ref.back() = ParentRef::kChildOf;
    } else {
      others.push_back(*id);
    }
  }
}

}  // namespace

void DecodeHTraceSpan(JsonValue span, decode::AttributeWriter& writer) {
  EventBatch& batch = writer.batch();
  decode::DecodeReport& report = writer.report();
  HTraceId id;
  if (!span.IsObject()) return report.Reject("not_an_object");
  if (const char* reason = ReadIds(span, id, report)) return report.Reject(reason);
  const uint32_t process = PutProcess(span.Get("r").String(), writer);
  const uint32_t scope = decode::FinishScope(batch, 0, 0, batch.ArenaSize());
  batch.AddRow();
  batch.process.back() = process;
  batch.scope.back() = scope;
  batch.trace_hi.back() = id.trace.hi;
  batch.trace_lo.back() = id.trace.lo;
  batch.id1.back() = id.span.value;
  batch.name.back() = writer.Intern(span.Get("d").String());
  const std::optional<Nanos> begin = Millis(span.Get("b"), report);
  std::optional<Nanos> end = Millis(span.Get("e"), report);
  if (end == 0 && begin.value_or(0) != 0) end.reset();
  decode::SetTimes(batch, begin, end);
  std::vector<HTraceId> others;
  Parents(span, id, batch, report, others);

  writer.StartList(decode::AttributePlace::kSpan);
  for (const auto& [key, value] : span.Get("n").Members())
    decode::PackJsonAttribute(key, value, writer);
  batch.EndAttributes();
  for (const JsonValue note : span.Get("t").Elements()) {
    PutPoint({Millis(note.Get("t"), report).value_or(0), writer.Intern(note.Get("m").String()), {}},
             batch.bytes);
  }
  batch.EndPoints();
  for (const HTraceId& other : others) {
    PackedLink link;
    link.trace_id = other.trace;
    link.span_id = other.span;
    link.ref = static_cast<uint8_t>(ParentRef::kChildOf);
    PutLink(link, batch.bytes);
  }
  batch.EndLinks();
  ++report.accepted;
}

Status DecodeHTraceJson(std::string_view text, const decode::DecodeOptions& options,
                        EventBatch& out, decode::DecodeReport& report) {
  const decode::BatchMark mark(out);
  decode::DecodeReport own;
  decode::AttributeWriter writer(out, options, own);
  JsonParser parser;
  JsonLimits limits;
  limits.repair_utf8 = true;
  JsonSplitter pieces = JsonSplitter::Sequence(text);
  std::string_view piece;
  while (pieces.Next(piece)) {
    const auto value = parser.Parse(piece, limits);
    if (!value.ok()) {
      mark.RollBack(out);
      return BadInput(
          fmt::format("HTrace JSON: value at byte {}: {}", pieces.offset(), value.error().message),
          value.error().hint);
    }
    if (parser.repaired_utf8()) own.Repair("bad_utf8");
    if (value->IsArray()) {
      for (const JsonValue span : value->Elements()) DecodeHTraceSpan(span, writer);
    } else {
      DecodeHTraceSpan(*value, writer);
    }
  }
  report.Add(own);
  return {};
}

}  // namespace wf::htrace
