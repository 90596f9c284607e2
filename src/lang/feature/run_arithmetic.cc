// Values to values: arithmetic, comparison, logic. Null with anything is null; what has no finite answer is null.
#include <cmath>

#include "lang/feature/plan_runner.h"
#include "lang/feature/value_compare.h"

namespace wf::feature {
namespace {

// Calls each(entry, lane) for all entries of a value vector.
template <typename Each>
void ForEntries(const LaneVector& vector, const Each& each) {
  for (size_t lane = 0; lane < vector.lanes; ++lane) {
    for (uint32_t i = vector.begin(lane); i < vector.end(lane); ++i) each(i, lane);
  }
}

int64_t Saturated(Arithmetic operation, int64_t a, int64_t b) {
  int64_t out = 0;
  bool overflow = false;
  bool negative = false;
  switch (operation) {
    case Arithmetic::kAdd:
      return SaturatingAdd(a, b);
    case Arithmetic::kSubtract:
      return SaturatingSub(a, b);
    default:
      overflow = __builtin_mul_overflow(a, b, &out);
      negative = (a < 0) != (b < 0);
      break;
  }
  return !overflow ? out : negative ? INT64_MIN : INT64_MAX;
}

double Calculated(Arithmetic operation, double a, double b) {
  switch (operation) {
    case Arithmetic::kAdd:
      return a + b;
    case Arithmetic::kSubtract:
      return a - b;
    case Arithmetic::kMultiply:
      return a * b;
    case Arithmetic::kDivide:
      return a / b;
  }
  return 0;
}

}  // namespace

LaneVector PlanRunner::Calculate(const Node& node) {
  const LaneVector& a = In(node, 0);
  const LaneVector& b = In(node, 1);
  const auto operation = static_cast<Arithmetic>(node.sub);
  LaneVector out = Shaped(node.type, a);
  if (!Charge(a.entries())) return out;
  out.ResizeValues(a.entries());
  if (node.type.value == ColumnType::kInt) {
    ForEntries(a, [&](size_t i, size_t lane) {
      if (a.valid[i] && b.valid[lane]) out.SetInt(i, Saturated(operation, a.ints[i], b.ints[lane]));
    });
    return out;
  }
  ForEntries(a, [&](size_t i, size_t lane) {
    if (!a.valid[i] || !b.valid[lane]) return;
    const double result = Calculated(operation, a.Number(i), b.Number(lane));
    if (std::isfinite(result)) out.SetDouble(i, result);
  });
  return out;
}

LaneVector PlanRunner::CompareValues(const Node& node) {
  const LaneVector& a = In(node, 0);
  const LaneVector& b = In(node, 1);
  const auto compare = static_cast<Compare>(node.sub);
  LaneVector out = Shaped(node.type, a);
  if (!Charge(a.entries())) return out;
  out.ResizeValues(a.entries());
  const bool doubles = a.type.value == ColumnType::kDouble || b.type.value == ColumnType::kDouble;
  ForEntries(a, [&](size_t i, size_t lane) {
    if (!a.valid[i] || !b.valid[lane]) return;
    const bool truth = a.type.is_text() ? Holds(compare, a.texts[i], b.texts[lane])
                       : doubles        ? Holds(compare, a.Number(i), b.Number(lane))
                                        : Holds(compare, a.ints[i], b.ints[lane]);
    out.SetInt(i, truth ? 1 : 0);
  });
  return out;
}

LaneVector PlanRunner::Logical(const Node& node) {
  const LaneVector& a = In(node, 0);
  LaneVector out = Shaped(node.type, a);
  if (!Charge(a.entries())) return out;
  out.ResizeValues(a.entries());
  if (node.op == Op::kNot) {
    ForEntries(a, [&](size_t i, size_t) {
      if (a.valid[i]) out.SetInt(i, a.ints[i] == 0 ? 1 : 0);
    });
    return out;
  }
  const LaneVector& b = In(node, 1);
  const bool conjunction = static_cast<Logic>(node.sub) == Logic::kAnd;
  ForEntries(a, [&](size_t i, size_t lane) {
    if (!a.valid[i] || !b.valid[lane]) return;
    const bool x = a.ints[i] != 0, y = b.ints[lane] != 0;
    out.SetInt(i, (conjunction ? x && y : x || y) ? 1 : 0);
  });
  return out;
}

LaneVector PlanRunner::Choose(const Node& node) {
  const LaneVector& condition = In(node, 0);
  LaneVector out = Shaped(node.type, condition);
  if (!Charge(condition.entries())) return out;
  ForEntries(condition, [&](size_t i, size_t lane) {
    if (!condition.valid[i])
      out.AppendNullEntry();
    else
      out.AppendEntry(In(node, condition.ints[i] != 0 ? 1 : 2), lane);
  });
  return out;
}

LaneVector PlanRunner::WithDefault(const Node& node) {
  const LaneVector& a = In(node, 0);
  const LaneVector& b = In(node, 1);
  LaneVector out = Shaped(node.type, a);
  if (!Charge(a.entries())) return out;
  ForEntries(a, [&](size_t i, size_t lane) {
    if (a.valid[i])
      out.AppendEntry(a, i);
    else
      out.AppendEntry(b, lane);
  });
  return out;
}

LaneVector PlanRunner::ToDouble(const Node& node) {
  const LaneVector& a = In(node, 0);
  LaneVector out = Shaped(node.type, a);
  if (!Charge(a.entries())) return out;
  out.valid = a.valid;
  out.doubles.assign(a.ints.begin(), a.ints.end());
  return out;
}

}  // namespace wf::feature
