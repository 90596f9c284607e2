// Stages that read values off elements: Filter's conditions, Label, Counter, Timestamp, Duration, Name, CounterDelta.
#include <algorithm>

#include "lang/feature/plan_runner.h"
#include "lang/feature/value_compare.h"

namespace wf::feature {
namespace {

// What a condition says of a value: null stays null, and a null condition does not hold.
enum class Truth { kFalse, kTrue, kNull };
Truth Of(bool truth) { return truth ? Truth::kTrue : Truth::kFalse; }

// The literal says how to compare: with a number as numbers, with a text as texts. A value that is no number is not
// equal to any, and neither above nor below.
Truth Judge(Compare compare, const KeyValue& value, const Literal& literal, ElementView& view) {
  switch (literal.kind) {
    case Literal::Kind::kText:
      return Of(Holds<std::string_view>(compare, TextOf(value, view), literal.text));
    case Literal::Kind::kBool: {
      const std::string_view wanted = literal.integer != 0 ? "true" : "false";
      return Of(Holds<std::string_view>(compare, TextOf(value, view), wanted));
    }
    case Literal::Kind::kInt:
      if (value.kind == KeyValue::Kind::kInt)  // exact, beyond what a double holds
        return Of(Holds<int64_t>(compare, value.integer, literal.integer));
      break;
    case Literal::Kind::kDouble:
      break;
  }
  double number;
  if (!NumberOf(value, number)) return Of(compare == Compare::kNe);
  return Of(Holds<double>(compare, number, literal.number));
}

class ConditionTest {
 public:
  ConditionTest(const Plan& plan, const PlanCondition& condition, ElementView& view)
      : condition_(condition),
        pattern_(condition.pattern < 0 ? nullptr
                                       : &plan.patterns[static_cast<size_t>(condition.pattern)]),
        view_(view),
        reader_(view, plan.keys[static_cast<size_t>(condition.key)]) {}

  // `cost`: what matching a pattern adds to the entry's own.
  bool HoldsFor(Element kind, uint32_t index, size_t& cost) {
    const KeyValue value = reader_.Read(kind, index);
    const Truth truth = Test(value, cost);
    return condition_.negated ? truth == Truth::kFalse : truth == Truth::kTrue;
  }

 private:
  Truth Test(const KeyValue& value, size_t& cost) {
    const bool absent = value.kind == KeyValue::Kind::kNull;
    if (condition_.compare == Compare::kExists) return Of(!absent);
    if (absent) return Truth::kNull;
    if (condition_.compare == Compare::kMatch) {
      const std::string_view text = TextOf(value, view_);
      cost += text.size() * pattern_->size() / 64;
      return Of(pattern_->Matches(text));
    }
    if (condition_.compare == Compare::kIn) {
      for (const Literal& literal : condition_.literals) {
        if (Judge(Compare::kEq, value, literal, view_) == Truth::kTrue) return Truth::kTrue;
      }
      return Truth::kFalse;
    }
    return Judge(condition_.compare, value, condition_.literals[0], view_);
  }

  const PlanCondition& condition_;
  const lang::Pattern* pattern_;
  ElementView& view_;
  KeyReader reader_;
};

}  // namespace

LaneVector PlanRunner::Constant(const Node& node) {
  const Literal& literal = plan_.constants[static_cast<size_t>(node.imm)];
  LaneVector out;
  out.type = node.type;
  out.lanes = 1;
  out.ResizeValues(1);
  switch (literal.kind) {
    case Literal::Kind::kText:
      out.SetText(0, literal.text);
      break;
    case Literal::Kind::kDouble:
      out.SetDouble(0, literal.number);
      break;
    default:
      out.SetInt(0, literal.integer);
      break;
  }
  return out;
}

LaneVector PlanRunner::FilterKeys(const Node& node) {
  const LaneVector& in = In(node, 0);
  std::vector<uint8_t> keep(in.items.size(), 1);
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = in.items[i] != kNone;
  // One condition after another over all elements that are left.
  for (int c = node.imm; c < node.imm + node.extra; ++c) {
    ConditionTest test(plan_, plan_.conditions[static_cast<size_t>(c)], view_);
    for (size_t i = 0; i < keep.size(); ++i) {
      if (!keep[i]) continue;
      size_t cost = 1;
      keep[i] = test.HoldsFor(in.type.element, in.items[i], cost);
      if (!Charge(cost)) return {};
    }
  }
  return KeepEntries(in, keep);
}

LaneVector PlanRunner::ReadKeys(const Node& node) {
  const LaneVector& in = In(node, 0);
  LaneVector out = Shaped(node.type, in);
  const size_t count = in.items.size();
  if (!Charge(2 * count)) return out;
  out.ResizeValues(count);
  KeyReader reader(view_, plan_.keys[static_cast<size_t>(node.imm)]);
  for (size_t i = 0; i < count; ++i) {
    if (in.items[i] == kNone) continue;
    if (node.op == Op::kKeyNumber) {
      double number;
      if (reader.ReadNumber(in.type.element, in.items[i], number)) out.SetDouble(i, number);
    } else {
      std::string_view text;
      if (reader.ReadText(in.type.element, in.items[i], text)) out.SetText(i, text);
    }
  }
  return out;
}

LaneVector PlanRunner::Property(const Node& node) {
  const LaneVector& in = In(node, 0);
  const Element kind = in.type.element;
  LaneVector out = Shaped(node.type, in);
  const size_t count = in.items.size();
  if (!Charge(count)) return out;
  out.ResizeValues(count);
  const Nanos zero = view_.trace.start_ns;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = in.items[i];
    if (index == kNone) continue;
    std::string_view text;
    switch (static_cast<ElementProperty>(node.sub)) {
      case ElementProperty::kTimestamp:
        out.SetInt(i, SaturatingSub(view_.Start(kind, index), zero));
        break;
      case ElementProperty::kEnd:
        out.SetInt(i, SaturatingSub(view_.End(kind, index), zero));
        break;
      case ElementProperty::kDuration:
        out.SetInt(i, view_.Duration(kind, index));
        break;
      case ElementProperty::kName:
        text = view_.Name(kind, index);
        if (!text.empty()) out.SetText(i, text);
        break;
      case ElementProperty::kStack:
        if (view_.Stack(kind, index, text)) out.SetText(i, text);
        break;
    }
  }
  return out;
}

LaneVector PlanRunner::GroupName(const Node& node) {
  const LaneVector& in = In(node, 0);
  LaneVector out;
  out.type = node.type;
  out.lanes = in.lanes;
  if (!Charge(in.keys.size())) return out;
  if (in.type.shape == Shape::kGroups) {
    out.offsets = in.offsets;
    out.null_lane = in.null_lane;
  }
  out.texts = in.keys;
  out.valid.assign(in.keys.size(), 1);
  if (in.type.shape == Shape::kGroup) {
    for (size_t lane = 0; lane < in.lanes; ++lane) {
      if (in.is_null(lane)) out.valid[lane] = 0;
    }
  }
  return out;
}

// A counter's samples are its annotations: a point's at the point, an element's first at its start and its last at its
// end (a single one at its end). The value at t is that of the last sample not after t.
LaneVector PlanRunner::CounterDelta(const Node& node) {
  const Trace& t = view_.trace;
  const LaneVector& in = In(node, 0);
  const LaneVector& from = In(node, 1);
  const LaneVector& to = In(node, 2);
  const std::string& name = plan_.keys[static_cast<size_t>(node.imm)].name;
  LaneVector out = Shaped(node.type, in);
  out.ResizeValues(in.items.size());
  std::vector<std::pair<Nanos, double>> samples;
  const auto add = [&](ElementKind kind, uint32_t index, Nanos start, Nanos end) {
    const auto [first, last] = t.annotations_of(kind, index);
    const size_t before = samples.size();
    for (const Annotation* a = first; a != last; ++a) {
      if (a->kind != AnnotationKind::kCounter || a->name != name) continue;
      if (a->value.type == wf::ValueType::kInt)
        samples.emplace_back(end, static_cast<double>(a->value.integer));
      else if (a->value.type == wf::ValueType::kDouble)
        samples.emplace_back(end, a->value.number);
    }
    if (samples.size() > before + 1) samples[before].first = start;
  };
  for (size_t lane = 0; lane < in.lanes; ++lane) {
    for (uint32_t i = in.begin(lane); i < in.end(lane); ++i) {
      if (in.items[i] == kNone || !from.valid[lane] || !to.valid[lane]) continue;
      const Element kind = ElementView::BaseKind(in.type.element);
      const uint32_t index = view_.Base(in.type.element, in.items[i]);
      samples.clear();
      std::vector<uint32_t> units, blocks, points;
      if (kind == Element::kTrace || kind == Element::kUnit) ReachUnits(kind, index, units);
      ReachBlocks(kind, index, blocks);
      ReachPoints(kind, index, points);
      if (!Charge(1 + units.size() + blocks.size() + points.size())) return out;
      for (const uint32_t u : units)
        add(ElementKind::kUnit, u, t.units[u].start_ns, t.units[u].end_ns);
      for (const uint32_t b : blocks)
        add(ElementKind::kBlock, b, t.blocks[b].start_ns, t.blocks[b].end_ns);
      for (const uint32_t p : points)
        add(ElementKind::kPoint, p, t.points[p].time_ns, t.points[p].time_ns);
      std::stable_sort(samples.begin(), samples.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      const auto value_at = [&](Nanos since_start, double& value) {
        const Nanos at = SaturatingAdd(t.start_ns, since_start);
        const auto after =
            std::upper_bound(samples.begin(), samples.end(), at,
                             [](Nanos time, const auto& sample) { return time < sample.first; });
        if (after == samples.begin()) return false;
        value = std::prev(after)->second;
        return true;
      };
      double at_from, at_to;
      if (value_at(from.ints[lane], at_from) && value_at(to.ints[lane], at_to))
        out.SetDouble(i, at_to - at_from);
    }
  }
  return out;
}

}  // namespace wf::feature
