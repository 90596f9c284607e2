#include "answer/trace/waterfall_json.h"

#include <algorithm>
#include <string>

#include "answer/frame/attribute_json.h"
#include "answer/trace/stacks_json.h"

namespace wf::answer {
namespace {

// Bits of blocks.flags.
constexpr int kRepaired = 1, kStandIn = 2, kAsync = 4, kLargestOwn = 8, kInferred = 16;

// The answer's own string table: only what the waterfall names.
class Strings {
 public:
  uint32_t Index(std::string_view text) { return table_.Intern(text); }
  void Write(JsonWriter& json) const {
    json.Key("strings").BeginArray();
    for (uint32_t i = 0; i < table_.size(); ++i) json.String(table_.At(i));
    json.EndArray();
  }

 private:
  StringTable table_;
};

struct UnitColumns {
  std::vector<uint32_t> name, service, thread, host;
};

template <typename Range, typename ValueOf>
void NumberColumn(JsonWriter& json, std::string_view key, const Range& range, ValueOf value) {
  json.Key(key).BeginArray();
  for (const auto& item : range) json.Int(static_cast<int64_t>(value(item)));
  json.EndArray();
}

// What a point marks the end or start of (`label:marker`, or a span event's attribute `marker`); "" for the others.
std::string_view MarkerOf(const Trace& trace, uint32_t point) {
  const auto [begin, end] = trace.annotations_of(ElementKind::kPoint, point);
  for (const Annotation* a = begin; a != end; ++a) {
    if (a->kind == AnnotationKind::kLabel && a->name == "marker") return a->value.text;
  }
  AttributeReader attributes(trace.attrs(trace.points[point]));
  uint32_t key;
  Value value;
  while (attributes.Next(key, value)) {
    if (value.type == ValueType::kString && trace.str(key) == "marker") return value.text;
  }
  return {};
}

// Nesting shows calls and requests; the waterfall draws the rest.
bool Drawn(const Edge& edge) {
  return edge.type != EdgeType::kRequest && edge.type != EdgeType::kResponse &&
         edge.type != EdgeType::kCall && edge.type != EdgeType::kReturn;
}

}  // namespace

WaterfallOrder DepthFirst(const Trace& trace) {
  WaterfallOrder order;
  order.blocks.reserve(trace.blocks.size());
  order.depth.reserve(trace.blocks.size());
  std::vector<std::pair<uint32_t, uint32_t>> stack;
  for (size_t i = trace.roots.size(); i-- > 0;) stack.emplace_back(trace.roots[i], 0);
  while (!stack.empty()) {
    const auto [b, depth] = stack.back();
    stack.pop_back();
    order.blocks.push_back(b);
    order.depth.push_back(depth);
    for (uint32_t i = trace.children_begin[b + 1]; i-- > trace.children_begin[b];) {
      stack.emplace_back(trace.children[i], depth + 1);
    }
  }
  return order;
}

void WriteWaterfall(const Trace& trace, JsonWriter& json) {
  const WaterfallOrder order = DepthFirst(trace);
  std::vector<uint32_t> position(trace.blocks.size(), 0);
  for (uint32_t i = 0; i < order.blocks.size(); ++i) position[order.blocks[i]] = i;
  const std::vector<Nanos> own = OwnTimes(trace);
  const auto largest = std::max_element(own.begin(), own.end());
  const size_t largest_own =
      largest == own.end() || *largest <= 0 ? kNone : static_cast<size_t>(largest - own.begin());

  // Columns that name strings come first in memory: the table is written before them.
  Strings strings;
  std::vector<uint32_t> service, name, kind;
  for (const uint32_t b : order.blocks) {
    const Block& block = trace.blocks[b];
    service.push_back(strings.Index(trace.service(block)));
    name.push_back(strings.Index(trace.str(block.name)));
    kind.push_back(strings.Index(BlockKindName(block.kind)));
  }
  struct Shown {
    uint32_t index, name, marker = 0;
  };
  std::vector<Shown> points, edges;
  for (uint32_t p = 0; p < trace.points.size(); ++p) {
    if (trace.points[p].type != PointType::kEvent || IsStackSample(trace, p)) continue;
    points.push_back(
        {p, strings.Index(trace.str(trace.points[p].name)), strings.Index(MarkerOf(trace, p))});
  }
  for (uint32_t e = 0; e < trace.edges.size(); ++e) {
    const Edge& edge = trace.edges[e];
    if (!Drawn(edge)) continue;
    edges.push_back(
        {e, strings.Index(edge.type == EdgeType::kLink ? "link" : trace.edge_type(edge))});
  }

  UnitColumns units;
  for (const Unit& unit : trace.units) {
    units.name.push_back(strings.Index(trace.str(unit.name)));
    units.service.push_back(strings.Index(trace.str(unit.service)));
    units.thread.push_back(strings.Index(trace.str(unit.thread)));
    units.host.push_back(strings.Index(trace.str(unit.host)));
  }
  const std::vector<uint32_t> samples = StackSamplesByUnit(trace);

  const auto since_start = [&](Nanos time) { return SaturatingSub(time, trace.start_ns); };
  json.BeginObject();
  json.Field("trace_id", ToHex(trace.id))
      .Field("start_ns", trace.start_ns)
      .Field("end_ns", trace.end_ns);
  json.Field("complete", trace.complete)
      .Field("clock", trace.clock == ClockMode::kAligned ? "aligned" : "raw");
  json.Field("clock_error_ns", trace.clock_error_ns).Key("main_root");
  if (trace.main_root() == kNone)
    json.Null();
  else
    json.String(ToHex64(trace.blocks[trace.main_root()].id));
  strings.Write(json);

  const auto block = [&](uint32_t b) -> const Block& { return trace.blocks[b]; };
  json.Key("blocks").BeginObject();
  json.Key("span_id").BeginArray();
  for (const uint32_t b : order.blocks) json.String(ToHex64(block(b).id));
  json.EndArray();
  NumberColumn(json, "parent", order.blocks, [&](uint32_t b) -> int64_t {
    return block(b).parent == kNone ? -1 : static_cast<int64_t>(position[block(b).parent]);
  });
  const auto same = [](uint32_t code) { return code; };
  NumberColumn(json, "service", service, same);
  NumberColumn(json, "name", name, same);
  NumberColumn(json, "kind", kind, same);
  NumberColumn(json, "status", order.blocks,
               [&](uint32_t b) { return static_cast<int>(block(b).status); });
  NumberColumn(json, "start", order.blocks,
               [&](uint32_t b) { return since_start(block(b).start_ns); });
  NumberColumn(json, "duration", order.blocks, [&](uint32_t b) { return block(b).duration(); });
  NumberColumn(json, "raw_start", order.blocks,
               [&](uint32_t b) { return since_start(block(b).raw_start_ns); });
  NumberColumn(json, "raw_duration", order.blocks, [&](uint32_t b) {
    return std::max<Nanos>(0, SaturatingSub(block(b).raw_end_ns, block(b).raw_start_ns));
  });
  NumberColumn(json, "flags", order.blocks, [&](uint32_t b) {
    return ((block(b).marks & kBlockRepaired) ? kRepaired : 0) |
           (block(b).stand_in() ? kStandIn : 0) | (block(b).async() ? kAsync : 0) |
           (b == largest_own ? kLargestOwn : 0) |
           (block(b).source == Source::kInferred ? kInferred : 0);
  });
  NumberColumn(json, "own", order.blocks, [&](uint32_t b) { return own[b]; });
  NumberColumn(json, "unit", order.blocks, [&](uint32_t b) { return block(b).unit; });
  json.EndObject();

  json.Key("units").BeginObject().Key("id").BeginArray();
  for (const Unit& unit : trace.units) json.String(ToHex64(unit.id));
  json.EndArray();
  NumberColumn(json, "name", units.name, same);
  NumberColumn(json, "service", units.service, same);
  NumberColumn(json, "thread", units.thread, same);
  NumberColumn(json, "host", units.host, same);
  NumberColumn(json, "samples", samples, same);
  json.EndObject();

  const auto point_block = [&](uint32_t p) { return position[trace.points[p].block]; };
  json.Key("points").BeginObject();
  NumberColumn(json, "block", points, [&](const Shown& s) { return point_block(s.index); });
  NumberColumn(json, "time", points,
               [&](const Shown& s) { return since_start(trace.points[s.index].time_ns); });
  NumberColumn(json, "name", points, [](const Shown& s) { return s.name; });
  NumberColumn(json, "marker", points, [](const Shown& s) { return s.marker; });
  json.EndObject();

  const auto from = [&](const Shown& s) { return trace.edges[s.index].from; };
  const auto to = [&](const Shown& s) { return trace.edges[s.index].to; };
  json.Key("edges").BeginObject();
  NumberColumn(json, "from_block", edges, [&](const Shown& s) { return point_block(from(s)); });
  NumberColumn(json, "from", edges,
               [&](const Shown& s) { return since_start(trace.points[from(s)].time_ns); });
  NumberColumn(json, "to_block", edges, [&](const Shown& s) { return point_block(to(s)); });
  NumberColumn(json, "to", edges,
               [&](const Shown& s) { return since_start(trace.points[to(s)].time_ns); });
  NumberColumn(json, "type", edges, [](const Shown& s) { return s.name; });
  NumberColumn(json, "blocking", edges,
               [&](const Shown& s) { return trace.edges[s.index].blocking ? 1 : 0; });
  json.EndObject();

  json.Key("repairs").BeginObject();
  for (size_t pass = 0; pass < kRepairPasses; ++pass) {
    if (trace.repair_counts[pass] == 0) continue;
    json.Field(RepairPassName(static_cast<RepairPass>(pass)), trace.repair_counts[pass]);
  }
  json.EndObject();
  WriteMissing(trace, json);
  WriteViolations(trace, json);
  WriteClocks(trace, json);
  json.EndObject();
}

}  // namespace wf::answer
