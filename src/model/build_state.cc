#include "model/build_state.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace wf {

uint64_t DeriveId(uint64_t source, uint64_t role) {
  const uint64_t id = MixBits(source * 0x9E3779B97F4A7C15ull + MixBits(role));
  return id == 0 ? 1 : id;
}

BuildState::BuildState(const EventBatch& batch, const std::vector<uint32_t>& rows,
                       const BuildOptions& build_options, Trace& built)
    : events(batch), options(build_options), trace(built), home(batch, rows.data(), rows.size()) {
  thread_key = batch.strings.Find("thread.id");
  async_key = batch.strings.Find("wherefore.async");
  // Senders repeat their process in every request: equal ones are one process.
  std::map<std::tuple<uint32_t, uint32_t, std::string_view>, uint32_t> known;
  for (uint32_t p = 0; p < batch.processes.size(); ++p) {
    const Process& process = batch.processes[p];
    const auto key = std::make_tuple(process.service, process.host,
                                     batch.Slice(process.attrs_begin, process.attrs_end));
    const auto [at, fresh] = known.try_emplace(key, static_cast<uint32_t>(trace.processes.size()));
    const HostClock* clock =
        options.clocks == nullptr ? nullptr : options.clocks->Find(batch.str(process.host));
    if (fresh) {
      trace.processes.push_back(p);
      known_clock.push_back(clock);
    }
    process_index.push_back(at->second);
    process_clock.push_back(options.clock == ClockMode::kAligned ? clock : nullptr);
  }
}

Nanos BuildState::ClockError(const Block& block) const {
  // Raw times too are judged by how well the clocks are known.
  const HostClock* clock = block.process == kNone ? nullptr : known_clock[block.process];
  if (clock == nullptr) return 0;
  const Nanos error = clock->Error(block.raw_start_ns);
  if (options.clock == ClockMode::kAligned) return error;
  const Nanos offset = SaturatingSub(block.raw_start_ns, clock->Align(block.raw_start_ns));
  return SaturatingAdd(error, offset < 0 ? -offset : offset);
}

uint32_t BuildState::AddPoint(uint32_t block, PointType type, Nanos raw_time, Nanos time,
                              uint64_t id) {
  Point point;
  point.id = id;
  point.block = block;
  point.type = type;
  point.raw_time_ns = raw_time;
  point.time_ns = time;
  trace.points.push_back(point);
  return static_cast<uint32_t>(trace.points.size() - 1);
}

uint32_t BuildState::AddEventPoint(uint32_t block, uint32_t row) {
  const Hash128 content = ContentHash(events, row);
  const Nanos raw = events.start_ns[row];
  const uint32_t p = AddPoint(block, PointType::kOfEvent, raw, Align(ProcessOf(row), raw),
                              DeriveId(events.id1[row] ^ content.lo, kRoleEvent));
  trace.points[p].event = events.type[row];
  trace.points[p].name = events.name[row];
  return p;
}

uint32_t BuildState::AddBlock(uint64_t id, uint32_t row) {
  const auto b = static_cast<uint32_t>(trace.blocks.size());
  Block& block = trace.blocks.emplace_back();
  block.id = id;
  block.row = row;
  block.begin_point = static_cast<uint32_t>(trace.points.size());
  block.end_point = block.begin_point + 1;
  // Their ids and times follow from the block, in SettleBounds.
  AddPoint(b, PointType::kBegin, 0, 0, 0);
  AddPoint(b, PointType::kEnd, 0, 0, 0);
  parent_ids.push_back(0);
  entered.push_back(0);
  if (row != kNone) {
    block.process = process_index[ProcessOf(row)];
    block.received_ns = events.received_of(row);
    block.source = events.source_of(row);
    block.probability = events.probability_of(row);
    block.flags = events.flags[row];
    block.tracestate = events.tracestate[row];
  }
  return b;
}

uint32_t BuildState::AddEdge(uint32_t from, uint32_t to, EdgeType type, bool blocking,
                             uint64_t id) {
  Edge edge;
  edge.id = id;
  edge.from = from;
  edge.to = to;
  edge.type = type;
  edge.blocking = blocking;
  trace.edges.push_back(edge);
  return static_cast<uint32_t>(trace.edges.size() - 1);
}

void BuildState::Enter(uint32_t edge) {
  const uint32_t from = trace.points[trace.edges[edge].from].block,
                 to = trace.points[trace.edges[edge].to].block;
  const Block& sender = trace.blocks[from];
  const Block& receiver = trace.blocks[to];
  if (from == to) return;
  const bool is_span = receiver.marks & kBlockUnlinked;
  const bool from_parent = receiver.parent == from || parent_ids[to] == sender.id;
  if (is_span ? from_parent : sender.unit == kNone || sender.unit != receiver.unit) entered[to] = 1;
}

uint32_t BuildState::AddUnit(uint64_t id, uint32_t row) {
  Unit unit;
  unit.id = id;
  if (row == kNone) {
    unit.source = Source::kInferred;
    unit.name = unit.service = trace.Intern("unknown");
  } else {
    const Process& process = events.processes[ProcessOf(row)];
    unit.process = process_index[ProcessOf(row)];
    unit.service = process.service;
    unit.host = process.host;
    unit.name = process.service;
    unit.received_ns = events.received_of(row);
    unit.source = events.source_of(row);
    unit.probability = events.probability_of(row);
  }
  trace.units.push_back(unit);
  unit_parent_ids.push_back(0);
  return static_cast<uint32_t>(trace.units.size() - 1);
}

uint32_t BuildState::AddStandIn(uint64_t id) {
  const uint32_t b = AddBlock(id, kNone);
  Block& block = trace.blocks[b];
  block.marks = kBlockStandIn | kBlockNoStart | kBlockNoEnd;
  block.source = Source::kInferred;
  block.name = trace.Intern("missing");
  block.unit = AddUnit(DeriveId(id, kRoleUnit), kNone);
  block_by_id.Insert(id, b);
  return b;
}

uint32_t BuildState::BlockFor(uint64_t id, uint32_t row) {
  // An event that names no block happened somewhere in its process.
  if (id == 0)
    id = DeriveId(HashBytes(events.str(events.processes[ProcessOf(row)].service)), kRoleNoBlock);
  const uint32_t known = block_by_id.Find(id);
  if (known != kNone) return known;
  const uint32_t b = AddBlock(id, row);
  Block& block = trace.blocks[b];
  block.row = kNone;  // the event's annotations are not the block's
  block.marks = kBlockNoStart | kBlockNoEnd;
  block.source = Source::kInferred;
  block.name = trace.Intern("missing");
  block.unit = AddUnit(DeriveId(id, kRoleUnit), row);
  trace.units[block.unit].source = Source::kInferred;
  block_by_id.Insert(id, b);
  Record(ElementKind::kBlock, id, RepairPass::kMissingBlock, {}, RepairValue::Id(id));
  RecordMissing(MissingWhat::kBlock, id);
  return b;
}

uint32_t BuildState::UnitFor(uint64_t id, uint32_t row) {
  const Process& process = events.processes[ProcessOf(row)];
  const bool unnamed = id == 0;
  if (unnamed)
    id = DeriveId(HashBytes(events.str(process.host), HashBytes(events.str(process.service))),
                  kRoleNoUnit);
  const uint32_t known = unit_by_id.Find(id);
  if (known != kNone) return known;
  const uint32_t u = AddUnit(id, row);
  Unit& unit = trace.units[u];
  unit.source = Source::kInferred;
  unit.start_ns = INT64_MAX;  // neither begun nor ended: its blocks will say
  unit.end_ns = INT64_MIN;
  unit_by_id.Insert(id, u);
  Record(ElementKind::kUnit, id, RepairPass::kMissingUnit, {}, RepairValue::Id(id));
  if (!unnamed) RecordMissing(MissingWhat::kUnit, id);
  return u;
}

namespace {

// `label|message|counter|set|stack:NAME[:UNIT]`; any other key is a label of that name.
void ParseKey(std::string_view key, Annotation& out) {
  static constexpr std::pair<std::string_view, AnnotationKind> kPrefixes[] = {
      {"label:", AnnotationKind::kLabel},
      {"message:", AnnotationKind::kMessage},
      {"counter:", AnnotationKind::kCounter},
      {"set:", AnnotationKind::kSet},
      {"stack:", AnnotationKind::kStack}};
  out.kind = AnnotationKind::kLabel;
  out.name = key;
  out.unit = {};
  for (const auto& [prefix, kind] : kPrefixes) {
    if (key.substr(0, prefix.size()) != prefix) continue;
    out.kind = kind;
    out.name = key.substr(prefix.size());
    const size_t colon = out.name.rfind(':');
    if (colon != std::string_view::npos) {
      out.unit = out.name.substr(colon + 1);
      out.name = out.name.substr(0, colon);
    }
    return;
  }
}

// Annotation values travel as texts; a counter is a number.
void DecodeNumber(Value& value) {
  if (value.type != ValueType::kString || value.text.empty()) return;
  const char* begin = value.text.data();
  const char* end = begin + value.text.size();
  int64_t integer;
  if (const auto [at, error] = std::from_chars(begin, end, integer);
      error == std::errc() && at == end) {
    value = Value{};
    value.type = ValueType::kInt;
    value.integer = integer;
    return;
  }
  double number;
  if (const auto [at, error] = std::from_chars(begin, end, number);
      error == std::errc() && at == end) {
    value = Value{};
    value.type = ValueType::kDouble;
    value.number = number;
  }
}

}  // namespace

void BuildState::Annotate(ElementKind element, uint32_t index, uint32_t row) {
  AttributeReader reader(events.attrs(row));
  uint32_t key;
  Annotation annotation;
  annotation.element = element;
  annotation.index = index;
  while (reader.Next(key, annotation.value)) {
    const std::string_view text = events.str(key);
    if (text.substr(0, 10) == "wherefore.") continue;  // how the event arrived, not what it says
    ParseKey(text, annotation);
    if (annotation.kind == AnnotationKind::kCounter) DecodeNumber(annotation.value);
    trace.annotations.push_back(annotation);
  }
}

void BuildState::AddCounter(ElementKind element, uint32_t index, std::string_view name,
                            std::string_view unit, int64_t value) {
  Annotation annotation;
  annotation.element = element;
  annotation.index = index;
  annotation.kind = AnnotationKind::kCounter;
  annotation.name = name;
  annotation.unit = unit;
  annotation.value.type = ValueType::kInt;
  annotation.value.integer = value;
  trace.annotations.push_back(annotation);
}

uint32_t BuildState::Label(uint32_t row, std::string_view label) const {
  AttributeReader reader(events.attrs(row));
  uint32_t key;
  Value value;
  Annotation parsed;
  while (reader.Next(key, value)) {
    ParseKey(events.str(key), parsed);
    if (parsed.kind == AnnotationKind::kLabel && parsed.name == label)
      return trace.Intern(ValueText(value));
  }
  return 0;
}

uint32_t BuildState::NameOf(uint32_t row) const {
  return events.name[row] != 0 ? events.name[row] : Label(row, "name");
}

uint32_t BuildState::NameOrIdOf(uint32_t row) const {
  const uint32_t name = NameOf(row);
  return name != 0 ? name : Label(row, "wherefore.id1");
}

void BuildState::Record(ElementKind kind, uint64_t element, RepairPass pass, RepairValue before,
                        RepairValue after) {
  trace.repairs.push_back({element, kind, pass, before, after});
  ++trace.repair_counts[static_cast<size_t>(pass)];
}

void BuildState::RecordMissing(MissingWhat what, uint64_t id) {
  trace.missing.push_back({what, id, false});
}

}  // namespace wf
