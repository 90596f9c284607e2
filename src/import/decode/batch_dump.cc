#include "import/decode/batch_dump.h"

#include <fmt/format.h>

namespace wf::decode {
namespace {

constexpr const char* kKinds[] = {"unspecified", "internal", "server",
                                  "client",      "producer", "consumer"};
constexpr const char* kStatuses[] = {"unset", "ok", "error"};
constexpr const char* kRefs[] = {"none", "child_of", "follows_from"};

std::string Typed(const Value& value) {
  switch (value.type) {
    case ValueType::kNull:
      return "null";
    case ValueType::kString:
      return fmt::format("\"{}\"", value.text);
    case ValueType::kBytes:
      return "bytes:" + ValueText(value);
    case ValueType::kDouble: {
      std::string text = ValueText(value);
      if (text.find_first_of(".en") == std::string::npos) text += ".0";
      return text;
    }
    case ValueType::kArray: {
      std::string out;
      ArrayReader reader(value.text);
      for (Value element; reader.Next(element);) out += (out.empty() ? "" : ", ") + Typed(element);
      return "[" + out + "]";
    }
    case ValueType::kMap: {
      std::string out;
      MapReader reader(value.text);
      std::string_view key;
      for (Value element; reader.Next(key, element);) {
        out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", key, Typed(element));
      }
      return "{" + out + "}";
    }
    default:
      return ValueText(value);
  }
}

std::string Attributes(const EventBatch& batch, std::string_view packed) {
  std::string out;
  AttributeReader reader(packed);
  uint32_t key;
  for (Value value; reader.Next(key, value);)
    out += fmt::format(" {}={}", batch.str(key), Typed(value));
  if (reader.bad()) out += " <malformed>";
  return out;
}

}  // namespace

std::string DumpBatch(const EventBatch& b) {
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) {
    out += fmt::format("{} {} {} \"{}\"", wherefore::EventTypeName(b.type[i]), ToHex(b.trace_id(i)),
                       ToHex64(b.id1[i]), b.str(b.name[i]));
    if (b.id2[i] != 0 || b.parent_ref[i] != ParentRef::kNone) {
      out += fmt::format(" {}={}", kRefs[static_cast<int>(b.parent_ref[i])], ToHex64(b.id2[i]));
    }
    out += fmt::format(" [{}..{}]",
                       (b.marks[i] & kHasStart) != 0 ? std::to_string(b.start_ns[i]) : "?",
                       (b.marks[i] & kHasEnd) != 0 ? std::to_string(b.end_ns[i]) : "?");
    if (b.kind[i] != SpanKind::kUnspecified)
      out += fmt::format(" {}", kKinds[static_cast<int>(b.kind[i])]);
    if ((b.marks[i] & kSharedSpanId) != 0) out += " shared";
    if (b.status[i] != SpanStatus::kUnset || b.status_message[i] != 0) {
      out += fmt::format(" status={}", kStatuses[static_cast<int>(b.status[i])]);
      if (b.status_message[i] != 0) out += fmt::format(":\"{}\"", b.str(b.status_message[i]));
    }
    if (b.flags[i] != 0) out += fmt::format(" flags={:x}", b.flags[i]);
    if (b.tracestate[i] != 0) out += fmt::format(" tracestate=\"{}\"", b.str(b.tracestate[i]));
    if (b.sequence_of(i) != kNoSequence) out += fmt::format(" seq={}", b.sequence_of(i));
    out += "\n";
    const Process& process = b.processes[b.process[i]];
    out += fmt::format("  process {}@{}:{}\n", b.str(process.service), b.str(process.host),
                       Attributes(b, b.process_attrs(i)));
    const Scope& scope = b.scopes[b.scope[i]];
    if (scope.name != 0 || scope.version != 0 || scope.attrs_begin != scope.attrs_end) {
      out += fmt::format("  scope {} {}:{}\n", b.str(scope.name), b.str(scope.version),
                         Attributes(b, b.scope_attrs(i)));
    }
    if (!b.attrs(i).empty()) out += fmt::format("  attrs{}\n", Attributes(b, b.attrs(i)));
    PointReader points(b.points(i));
    for (PackedPoint point; points.Next(point);) {
      out += fmt::format("  point {} \"{}\"{}\n", point.time_ns, b.str(point.name),
                         Attributes(b, point.attrs));
    }
    LinkReader links(b.links(i));
    for (PackedLink link; links.Next(link);) {
      out += fmt::format("  link {} {} {}", ToHex(link.trace_id), ToHex(link.span_id),
                         kRefs[link.ref % 3]);
      if (link.flags != 0) out += fmt::format(" flags={:x}", link.flags);
      if (link.tracestate != 0) out += fmt::format(" tracestate=\"{}\"", b.str(link.tracestate));
      out += Attributes(b, link.attrs) + "\n";
    }
  }
  return out;
}

std::string DumpReport(const DecodeReport& report) {
  const auto list = [](const auto& counters) {
    std::string out;
    for (const auto& [name, count] : counters)
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", name, count);
    return out;
  };
  return fmt::format("accepted {}, rejected {} {{{}}}, repairs {{{}}}", report.accepted,
                     report.rejected, list(report.reasons), list(report.repairs));
}

}  // namespace wf::decode
