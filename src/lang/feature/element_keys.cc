#include "lang/feature/element_keys.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/ids.h"

namespace wf::feature {
namespace {

enum PropertyName : int {
  kName,
  kId,
  kTimestamp,
  kEnd,
  kDuration,
  kStartNs,
  kEndNs,
  kService,
  kHost,
  kThread,
  kKind,
  kType,
  kStatus,
  kStatusMessage,
  kAsync,
  kStandIn,
  kBlocking,
  kCategory,
  kComplete,
  kRepairs,
  kMissing,
  kDoubles,
  // One a repair pass: repairs.late; one a kind of what is missing: missing.parent.
  kFirstRepairPass,
  kFirstMissing = kFirstRepairPass + static_cast<int>(kRepairPasses),
};
constexpr std::string_view kRepairsOf = "repairs.", kMissingOf = "missing.";
constexpr int kMissingKinds = static_cast<int>(MissingWhat::kElement) + 1;
constexpr std::string_view kPropertyNames[] = {
    "name",    "id",       "timestamp", "end",      "duration", "start_ns", "end_ns",
    "service", "host",     "thread",    "kind",     "type",     "status",   "status_message",
    "async",   "stand_in", "blocking",  "category", "complete", "repairs",  "missing",
    "doubles"};

KeyValue Text(std::string_view text) {
  KeyValue value;
  if (text.empty()) return value;  // an empty name is none: a label of that name may say more
  value.kind = KeyValue::Kind::kText;
  value.text = text;
  return value;
}
KeyValue Int(int64_t number) {
  KeyValue value;
  value.kind = KeyValue::Kind::kInt;
  value.integer = number;
  return value;
}
KeyValue Bool(bool truth) {
  KeyValue value;
  value.kind = KeyValue::Kind::kBool;
  value.integer = truth ? 1 : 0;
  return value;
}

std::string_view StatusName(SpanStatus status) {
  return status == SpanStatus::kError ? "error" : status == SpanStatus::kOk ? "ok" : "unset";
}

bool Convert(const Value& from, KeyValue& to) {
  switch (from.type) {
    case wf::ValueType::kString:
      to.kind = KeyValue::Kind::kText;  // an empty label is a label
      to.text = from.text;
      return true;
    case wf::ValueType::kBool:
      to = Bool(from.boolean);
      return true;
    case wf::ValueType::kInt:
      to = Int(from.integer);
      return true;
    case wf::ValueType::kDouble:
      to.kind = KeyValue::Kind::kDouble;
      to.number = from.number;
      return std::isfinite(from.number);
    default:
      return false;  // arrays, maps, bytes: no value of this language
  }
}

}  // namespace

int PropertyIndex(std::string_view name) {
  for (size_t i = 0; i < std::size(kPropertyNames); ++i) {
    if (kPropertyNames[i] == name) return static_cast<int>(i);
  }
  if (name.substr(0, kRepairsOf.size()) == kRepairsOf) {
    for (int i = 0; i < static_cast<int>(kRepairPasses); ++i) {
      if (RepairPassName(static_cast<RepairPass>(i)) == name.substr(kRepairsOf.size()))
        return kFirstRepairPass + i;
    }
  }
  if (name.substr(0, kMissingOf.size()) == kMissingOf) {
    for (int i = 0; i < kMissingKinds; ++i) {
      if (MissingWhatName(static_cast<MissingWhat>(i)) == name.substr(kMissingOf.size()))
        return kFirstMissing + i;
    }
  }
  return -1;
}

int PropertyCount() { return kFirstMissing + kMissingKinds; }

bool NumberOf(const KeyValue& value, double& out) {
  switch (value.kind) {
    case KeyValue::Kind::kInt:
      out = static_cast<double>(value.integer);
      return true;
    case KeyValue::Kind::kDouble:
      out = value.number;
      return true;
    case KeyValue::Kind::kText: {
      const char* end = value.text.data() + value.text.size();
      const auto read = std::from_chars(value.text.data(), end, out);
      return read.ec == std::errc() && read.ptr == end && std::isfinite(out);
    }
    default:
      return false;
  }
}

std::string NumberText(double number) {
  char buffer[32];
  // Whole numbers as such: a counter of bytes is "10240", not "1.024e+04".
  if (std::abs(number) < 9e15 && number == std::floor(number))
    return std::to_string(static_cast<int64_t>(number));
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, number);
  return std::string(buffer, written.ptr);
}

std::string_view TextOf(const KeyValue& value, ElementView& view) {
  switch (value.kind) {
    case KeyValue::Kind::kBool:
      return value.integer != 0 ? "true" : "false";
    case KeyValue::Kind::kInt:
      return view.Keep(std::to_string(value.integer));
    case KeyValue::Kind::kDouble:
      return view.Keep(NumberText(value.number));
    default:
      return value.text;
  }
}

KeyReader::KeyReader(ElementView& view, const PlanKey& key)
    : view_(view), key_(key), code_(view.trace.events->strings.Find(key.name)) {}

KeyValue KeyReader::Property(Element kind, uint32_t index) const {
  const Trace& t = view_.trace;
  switch (key_.property) {
    case kName:
      return Text(view_.Name(kind, index));
    case kId:
      if (kind == Element::kTrace) return Text(view_.Keep(ToHex(t.id)));
      if (kind == Element::kGap || kind == Element::kPath) return {};
      return Text(view_.Keep(ToHex64(view_.Id(kind, index))));
    case kTimestamp:
      return Int(SaturatingSub(view_.Start(kind, index), t.start_ns));
    case kEnd:
      return Int(SaturatingSub(view_.End(kind, index), t.start_ns));
    case kDuration:
      return Int(view_.Duration(kind, index));
    case kStartNs:
      return Int(view_.Start(kind, index));
    case kEndNs:
      return Int(view_.End(kind, index));
    case kComplete:
      return kind == Element::kTrace ? Bool(t.complete) : KeyValue{};
    case kCategory:
      if (kind == Element::kSegment)
        return Text(critical_path::PathCategoryName(view_.segments[index].category));
      return {};
    default:
      break;
  }
  const uint32_t base = view_.Base(kind, index);
  switch (ElementView::BaseKind(kind)) {
    case Element::kTrace: {
      const uint32_t root = t.main_root();
      if (root != kNone && key_.property == kService) return Text(t.service(t.blocks[root]));
      if (key_.property == kMissing) return Int(static_cast<int64_t>(t.missing.size()));
      if (key_.property == kDoubles) return Int(t.doubles);
      if (key_.property == kRepairs)
        return Int(std::accumulate(t.repair_counts.begin(), t.repair_counts.end(), int64_t{0}));
      if (key_.property >= kFirstMissing) {
        const auto what = static_cast<MissingWhat>(key_.property - kFirstMissing);
        return Int(std::count_if(t.missing.begin(), t.missing.end(),
                                 [what](const Missing& m) { return m.what == what; }));
      }
      if (key_.property >= kFirstRepairPass)
        return Int(t.repair_counts[static_cast<size_t>(key_.property - kFirstRepairPass)]);
      return {};
    }
    case Element::kUnit: {
      const Unit& unit = t.units[base];
      if (key_.property == kService) return Text(t.str(unit.service));
      if (key_.property == kHost) return Text(t.str(unit.host));
      if (key_.property == kThread) return Text(t.str(unit.thread));
      return {};
    }
    case Element::kBlock: {
      const Block& block = t.blocks[base];
      const Unit& unit = t.units[block.unit];
      switch (key_.property) {
        case kService:
          return Text(t.str(unit.service));
        case kHost:
          return Text(t.str(unit.host));
        case kThread:
          return Text(t.str(unit.thread));
        case kKind:
          return Text(BlockKindName(block.kind));
        case kStatus:
          return Text(StatusName(block.status));
        case kStatusMessage:
          return Text(t.str(block.status_message));
        case kAsync:
          return Bool(block.async());
        case kStandIn:
          return Bool(block.stand_in());
        default:
          return {};
      }
    }
    case Element::kPoint: {
      const Point& point = t.points[base];
      if (key_.property == kType) return Text(PointTypeName(point));
      if (key_.property == kService) return Text(t.service(t.blocks[point.block]));
      return {};
    }
    case Element::kEdge: {
      const Edge& edge = t.edges[base];
      if (key_.property == kType) return Text(t.edge_type(edge));
      if (key_.property == kBlocking) return Bool(edge.blocking);
      return {};
    }
    default:
      return {};
  }
}

bool KeyReader::FindAnnotation(ElementKind element, uint32_t index, bool counters, Wanted wanted,
                               KeyValue& out) const {
  if (view_.trace.annotations.empty()) return false;
  const auto [begin, end] = view_.trace.annotations_of(element, index);
  double ignored;
  bool found = false;  // annotated twice: the later one counts
  for (const Annotation* a = begin; a != end; ++a) {
    const bool counter = a->kind == AnnotationKind::kCounter;
    if (counter != counters || a->kind == AnnotationKind::kStack || a->name != key_.name) continue;
    KeyValue value;
    if (!Convert(a->value, value)) continue;
    if (wanted == Wanted::kNumber && !NumberOf(value, ignored)) continue;
    out = value;
    found = true;
  }
  return found;
}

bool KeyReader::FindAttribute(std::string_view packed, Wanted wanted, KeyValue& out) const {
  if (code_ == UINT32_MAX || packed.empty()) return false;
  AttributeReader reader(packed);
  uint32_t code;
  Value value;
  double ignored;
  while (reader.Next(code, value)) {
    if (code != code_) continue;
    KeyValue converted;
    if (!Convert(value, converted)) continue;
    if (wanted == Wanted::kNumber && !NumberOf(converted, ignored)) continue;
    out = converted;
    return true;
  }
  return false;
}

bool KeyReader::FindProcessAttribute(uint32_t process, Wanted wanted, KeyValue& out) const {
  if (process == kNone) return false;
  const Process& p = view_.trace.events->processes[view_.trace.processes[process]];
  return FindAttribute(view_.trace.events->Slice(p.attrs_begin, p.attrs_end), wanted, out);
}

KeyValue KeyReader::Find(Element kind, uint32_t index, Wanted wanted) {
  const Trace& t = view_.trace;
  KeyValue value;
  double ignored;
  if (index == kNone) return value;
  if (key_.property >= 0) {
    value = Property(kind, index);
    if (value.kind != KeyValue::Kind::kNull && (wanted == Wanted::kAny || NumberOf(value, ignored)))
      return value;
  }
  const uint32_t base = view_.Base(kind, index);
  switch (ElementView::BaseKind(kind)) {
    case Element::kTrace: {  // what its main root says, else that one's unit
      const uint32_t root = t.main_root();
      if (root == kNone || key_.property >= 0) return {};
      value = Find(Element::kBlock, root, wanted);
      return value.kind != KeyValue::Kind::kNull
                 ? value
                 : Find(Element::kUnit, t.blocks[root].unit, wanted);
    }
    case Element::kUnit:
      if (FindAnnotation(ElementKind::kUnit, base, false, wanted, value)) return value;
      if (FindProcessAttribute(t.units[base].process, wanted, value)) return value;
      if (FindAnnotation(ElementKind::kUnit, base, true, wanted, value)) return value;
      return {};
    case Element::kBlock:
      if (FindAnnotation(ElementKind::kBlock, base, false, wanted, value)) return value;
      if (FindAttribute(t.attrs(t.blocks[base]), wanted, value)) return value;
      if (FindProcessAttribute(t.blocks[base].process, wanted, value)) return value;
      if (FindAnnotation(ElementKind::kBlock, base, true, wanted, value)) return value;
      return {};
    case Element::kPoint:
      if (FindAnnotation(ElementKind::kPoint, base, false, wanted, value)) return value;
      if (FindAttribute(t.attrs(t.points[base]), wanted, value)) return value;
      if (FindAnnotation(ElementKind::kPoint, base, true, wanted, value)) return value;
      return {};
    case Element::kEdge:
      if (FindAnnotation(ElementKind::kEdge, base, false, wanted, value)) return value;
      if (FindAnnotation(ElementKind::kEdge, base, true, wanted, value)) return value;
      return {};
    default:
      return {};
  }
}

KeyValue KeyReader::Read(Element kind, uint32_t index) { return Find(kind, index, Wanted::kAny); }

bool KeyReader::ReadNumber(Element kind, uint32_t index, double& out) {
  return NumberOf(Find(kind, index, Wanted::kNumber), out);
}

bool KeyReader::ReadText(Element kind, uint32_t index, std::string_view& out) {
  const KeyValue value = Read(kind, index);
  if (value.kind == KeyValue::Kind::kNull) return false;
  out = TextOf(value, view_);
  return true;
}

}  // namespace wf::feature
