#include "answer/trace/trace_answer.h"

#include <algorithm>
#include <unordered_set>

#include "answer/frame/attribute_json.h"
#include "answer/trace/stacks_json.h"
#include "answer/trace/waterfall_json.h"
#include "json/json_writer.h"

namespace wf::answer {
namespace {

std::string_view StatusName(SpanStatus status) {
  return status == SpanStatus::kError ? "error" : status == SpanStatus::kOk ? "ok" : "unset";
}
std::string_view SourceName(Source source) {
  return source == Source::kInferred   ? "inferred"
         : source == Source::kRepaired ? "repaired"
                                       : "recorded";
}
std::string_view ReferenceName(ParentRef reference) {
  return reference == ParentRef::kChildOf       ? "child_of"
         : reference == ParentRef::kFollowsFrom ? "follows_from"
                                                : "none";
}

class FullWriter {
 public:
  explicit FullWriter(const Trace& trace, JsonWriter& json) : t_(trace), j_(json) {}

  // `only`: kNone for the whole trace.
  void Write(uint32_t only) {
    j_.BeginObject();
    j_.Field("trace_id", ToHex(t_.id)).Field("start_ns", t_.start_ns).Field("end_ns", t_.end_ns);
    j_.Field("complete", t_.complete);
    j_.Key("units").BeginArray();
    for (uint32_t u = 0; u < t_.units.size(); ++u) {
      if (only == kNone || t_.blocks[only].unit == u) WriteUnit(u);
    }
    j_.EndArray().Key("blocks").BeginArray();
    for (uint32_t b = 0; b < t_.blocks.size(); ++b) {
      if (only == kNone || only == b) WriteBlock(b);
    }
    j_.EndArray().Key("points").BeginArray();
    for (uint32_t p = 0; p < t_.points.size(); ++p) {
      if (only == kNone || t_.points[p].block == only) WritePoint(p);
    }
    j_.EndArray().Key("edges").BeginArray();
    std::unordered_set<uint64_t> shown;  // ids whose repairs belong to the answer
    for (uint32_t e = 0; e < t_.edges.size(); ++e) {
      const Edge& edge = t_.edges[e];
      if (only != kNone && t_.points[edge.from].block != only && t_.points[edge.to].block != only)
        continue;
      WriteEdge(e);
      if (only != kNone) shown.insert(edge.id);
    }
    if (only != kNone) {
      shown.insert(t_.blocks[only].id);
      for (const Point& point : t_.points) {
        if (point.block == only) shown.insert(point.id);
      }
    }
    j_.EndArray().Key("repairs").BeginArray();
    for (const Repair& repair : t_.repairs) {
      if (only == kNone || shown.count(repair.element)) WriteRepair(repair);
    }
    j_.EndArray();
    WriteMissing(t_, j_);
    j_.Key("processes").BeginArray();
    for (const uint32_t p : t_.processes) WriteProcess(t_.events->processes[p]);
    j_.EndArray();
    j_.Field("clock", t_.clock == ClockMode::kAligned ? "aligned" : "raw")
        .Field("clock_error_ns", t_.clock_error_ns);
    WriteClocks(t_, j_);
    WriteViolations(t_, j_);
    j_.Field("usable", t_.usable()).Field("rebuilt", t_.rebuilt);
    Id("main_root", t_.main_root() == kNone ? 0 : t_.blocks[t_.main_root()].id);
    j_.Key("roots").BeginArray();
    for (const uint32_t root : t_.roots) j_.String(ToHex64(t_.blocks[root].id));
    j_.EndArray().Key("unknown_events").BeginArray();
    for (const auto& [type, count] : t_.unknown_events) {
      j_.BeginObject().Field("type", type).Field("count", count).EndObject();
    }
    j_.EndArray()
        .Field("doubles", t_.doubles)
        .Field("events", static_cast<int64_t>(t_.event_count));
    j_.EndObject();
  }

 private:
  void Id(std::string_view key, uint64_t id) {  // 0: null
    j_.Key(key);
    if (id == 0)
      j_.Null();
    else
      j_.String(ToHex64(id));
  }
  void TextOrNull(std::string_view key, uint32_t code) {
    j_.Key(key);
    if (code == 0)
      j_.Null();
    else
      j_.String(t_.str(code));
  }

  void WriteProbability(float probability) {
    j_.Key("probability");
    if (probability == 1)
      j_.Int(1);
    else
      j_.Double(probability);
  }

  void WriteUnit(uint32_t u) {
    const Unit& unit = t_.units[u];
    j_.BeginObject();
    Id("id", unit.id);
    j_.Field("name", t_.str(unit.name)).Field("service", t_.str(unit.service)).Key("process");
    if (unit.process == kNone)
      j_.Null();
    else
      j_.Int(unit.process);
    TextOrNull("thread", unit.thread);
    TextOrNull("host", unit.host);
    Id("parent_span_id", unit.parent_block == kNone ? 0 : t_.blocks[unit.parent_block].id);
    j_.Field("start_ns", unit.start_ns).Field("end_ns", unit.end_ns);
    j_.Field("inferred", unit.source == Source::kInferred);
    j_.Field("source", SourceName(unit.source)).Field("received_ns", unit.received_ns);
    if (unit.trace_start_ns != INT64_MIN) j_.Field("trace_start_ns", unit.trace_start_ns);
    WriteAnnotations(t_, ElementKind::kUnit, u, j_);
    j_.EndObject();
  }

  void WriteBlock(uint32_t b) {
    const Block& block = t_.blocks[b];
    j_.BeginObject();
    Id("span_id", block.id);
    Id("parent_id", block.parent == kNone ? 0 : t_.blocks[block.parent].id);
    Id("unit", t_.units[block.unit].id);
    j_.Field("service", t_.service(block)).Field("name", t_.str(block.name));
    j_.Field("kind", BlockKindName(block.kind)).Field("status", StatusName(block.status));
    j_.Field("status_message", t_.str(block.status_message));
    j_.Field("start_ns", block.start_ns).Field("end_ns", block.end_ns);
    j_.Field("raw_start_ns", block.raw_start_ns).Field("raw_end_ns", block.raw_end_ns);
    j_.Field("reference", ReferenceName(block.reference)).Field("blocks_parent", !block.async());
    j_.Field("flags", static_cast<int64_t>(block.flags));
    j_.Field("tracestate", t_.str(block.tracestate)).Field("source", SourceName(block.source));
    WriteProbability(block.probability);
    j_.Field("received_ns", block.received_ns);
    if (block.row != kNone) WriteScope(block.row);
    j_.Key("attributes");
    WriteAttributes(t_, t_.attrs(block), j_);
    WriteAnnotations(t_, ElementKind::kBlock, b, j_);
    if (block.row != kNone) WriteLinks(t_.events->links(block.row));
    j_.EndObject();
  }

  void WriteScope(uint32_t row) {
    if (t_.events->scopes.empty()) return;
    const Scope& scope = t_.events->scopes[t_.events->scope[row]];
    const std::string_view attributes = t_.events->scope_attrs(row);
    if (scope.name == 0 && scope.version == 0 && attributes.empty()) return;
    j_.Key("scope")
        .BeginObject()
        .Field("name", t_.str(scope.name))
        .Field("version", t_.str(scope.version));
    j_.Key("attributes");
    WriteAttributes(t_, attributes, j_);
    j_.EndObject();
  }

  void WriteLinks(std::string_view packed) {
    if (packed.empty()) return;
    j_.Key("links").BeginArray();
    LinkReader links(packed);
    for (PackedLink link; links.Next(link);) {
      j_.BeginObject().Field("trace_id", ToHex(link.trace_id));
      Id("span_id", link.span_id.value);
      j_.Field("reference", ReferenceName(static_cast<ParentRef>(link.ref)));
      j_.Field("flags", static_cast<int64_t>(link.flags))
          .Field("tracestate", t_.str(link.tracestate))
          .Key("attributes");
      WriteAttributes(t_, link.attrs, j_);
      j_.EndObject();
    }
    j_.EndArray();
  }

  void WritePoint(uint32_t p) {
    const Point& point = t_.points[p];
    j_.BeginObject();
    Id("id", point.id);
    Id("span_id", t_.blocks[point.block].id);
    j_.Field("type", PointTypeName(point)).Field("name", t_.str(point.name));
    j_.Field("time_ns", point.time_ns).Field("raw_time_ns", point.raw_time_ns);
    if (point.attrs_end != point.attrs_begin) {
      j_.Key("attributes");
      WriteAttributes(t_, t_.attrs(point), j_);
    }
    WriteAnnotations(t_, ElementKind::kPoint, p, j_);
    j_.EndObject();
  }

  void WriteEdge(uint32_t e) {
    const Edge& edge = t_.edges[e];
    j_.BeginObject();
    Id("from", t_.points[edge.from].id);
    Id("to", t_.points[edge.to].id);
    j_.Field("type", t_.edge_type(edge)).Field("blocking", edge.blocking);
    if (edge.type == EdgeType::kLink) j_.Field("link", true);
    if (edge.probability != 1) WriteProbability(edge.probability);
    WriteAnnotations(t_, ElementKind::kEdge, e, j_);
    j_.EndObject();
  }

  void WriteRepairValue(std::string_view key, const RepairValue& value) {
    j_.Key(key);
    switch (value.type) {
      case RepairValue::Type::kNothing:
        j_.Null();
        break;
      case RepairValue::Type::kTime:
        j_.Int(value.value);
        break;
      case RepairValue::Type::kId:
        j_.String(ToHex64(static_cast<uint64_t>(value.value)));
        break;
    }
  }
  void WriteRepair(const Repair& repair) {
    j_.BeginObject();
    j_.Field("element", ToHex64(repair.element)).Field("pass", RepairPassName(repair.pass));
    WriteRepairValue("before", repair.before);
    WriteRepairValue("after", repair.after);
    j_.EndObject();
  }

  void WriteProcess(const Process& process) {
    j_.BeginObject().Field("service", t_.str(process.service));
    TextOrNull("host", process.host);
    j_.Key("attributes");
    WriteAttributes(t_, t_.events->Slice(process.attrs_begin, process.attrs_end), j_);
    j_.EndObject();
  }

  const Trace& t_;
  JsonWriter& j_;
};

}  // namespace

Result<std::string> TraceJson(const Trace& trace, const TraceJsonOptions& options) {
  JsonWriter json;
  if (options.view == TraceView::kWaterfall) {
    WriteWaterfall(trace, json);
    return json.Take();
  }
  if (options.view == TraceView::kStacks) {
    WriteStacks(trace, json);
    return json.Take();
  }
  uint32_t only = kNone;
  if (options.span) {
    const auto at = std::find_if(trace.blocks.begin(), trace.blocks.end(),
                                 [&](const Block& b) { return b.id == options.span->value; });
    if (at == trace.blocks.end()) {
      return NotFound("trace " + ToHex(trace.id) + ": no span " + ToHex(*options.span),
                      "wherefore trace " + ToHex(trace.id) + " --format json lists its spans");
    }
    only = static_cast<uint32_t>(at - trace.blocks.begin());
  }
  FullWriter(trace, json).Write(only);
  return json.Take();
}

}  // namespace wf::answer
