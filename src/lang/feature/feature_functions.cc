#include "lang/feature/feature_functions.h"

namespace wf::feature {
namespace {

using F = Function;
using S = Standing;

// In the order of the enum.
constexpr FunctionInfo kFunctions[] = {
    {F::kTrace, "Trace", "Trace | …", S::kSource, 0, 0, false},
    {F::kExecUnits, "ExecUnits", "ExecUnits | …, or … | ExecUnits", S::kBoth, 0, 0, false},
    {F::kBlocks, "Blocks", "Blocks | …, or … | Blocks", S::kBoth, 0, 0, false},
    {F::kPoints, "Points", "Points | …, or … | Points", S::kBoth, 0, 0, false},
    {F::kEdges, "Edges", "Edges | …, or … | Edges", S::kBoth, 0, 0, false},
    {F::kRow, "Row", "Row | …", S::kSource, 0, 0, false},
    {F::kIt, "It", "Where(It | …), Map(It | …)", S::kSource, 0, 0, false},
    {F::kCriticalPath, "CriticalPath", "CriticalPath(a->b) | Edges", S::kSource, 0, 1, false},
    {F::kSegments, "Segments", "CriticalPath(a->b) | Segments", S::kStage, 0, 0, false},
    {F::kParent, "Parent", "… | Parent", S::kStage, 0, 0, false},
    {F::kChildren, "Children", "… | Children", S::kStage, 0, 0, false},
    {F::kAncestors, "Ancestors", "… | Ancestors", S::kStage, 0, 0, false},
    {F::kDescendants, "Descendants", "… | Descendants", S::kStage, 0, 0, false},
    {F::kUnit, "Unit", "… | Unit", S::kStage, 0, 0, false},
    {F::kIn, "In", "… | In", S::kStage, 0, 0, false},
    {F::kOut, "Out", "… | Out", S::kStage, 0, 0, false},
    {F::kGaps, "Gaps", "Trace | Gaps, or … | Gaps", S::kStage, 0, 0, false},
    {F::kFilter, "Filter", "… | Filter(key = value, …)", S::kStage, 1, -1, false},
    {F::kWhere, "Where", "… | Where(It | … | Gt(x))", S::kStage, 1, 1, false},
    {F::kMap, "Map", "… | Map(It | …)", S::kStage, 1, 1, false},
    {F::kFirst, "First", "… | First", S::kStage, 0, 0, false},
    {F::kLast, "Last", "… | Last", S::kStage, 0, 0, false},
    {F::kNth, "Nth", "… | Nth(2)", S::kStage, 1, 1, false},
    {F::kGroupBy, "GroupBy", "… | GroupBy(key)", S::kStage, 1, 1, true},
    {F::kTimestamp, "Timestamp", "… | Timestamp", S::kStage, 0, 0, false},
    {F::kEnd, "End", "… | End", S::kStage, 0, 0, false},
    {F::kDuration, "Duration", "… | Duration", S::kStage, 0, 0, false},
    {F::kName, "Name", "… | Name", S::kStage, 0, 0, false},
    {F::kLabel, "Label", "… | Label(key)", S::kStage, 1, 1, true},
    {F::kCounter, "Counter", "… | Counter(key)", S::kStage, 1, 1, true},
    {F::kCounterDelta, "CounterDelta", "… | CounterDelta(key, a->b)", S::kBoth, 2, 2, true},
    {F::kStack, "Stack", "… | Stack", S::kStage, 0, 0, false},
    {F::kCount, "Count", "… | Count", S::kStage, 0, 0, false},
    {F::kSum, "Sum", "… | Duration | Sum", S::kStage, 0, 0, false},
    {F::kMean, "Mean", "… | Duration | Mean", S::kStage, 0, 0, false},
    {F::kMin, "Min", "… | Duration | Min", S::kStage, 0, 0, false},
    {F::kMax, "Max", "… | Duration | Max", S::kStage, 0, 0, false},
    {F::kPercentile, "Percentile", "… | Duration | Percentile(99)", S::kStage, 1, 1, false},
    {F::kDistinct, "Distinct", "… | Name | Distinct", S::kStage, 0, 0, false},
    {F::kList, "List", "… | Name | List", S::kStage, 0, 0, false},
    {F::kExists, "Exists", "… | Exists", S::kStage, 0, 0, false},
    {F::kAdd, "Add", "… | Add(x)", S::kStage, 1, 1, false},
    {F::kSubtract, "Subtract", "… | Subtract(x)", S::kStage, 1, 1, false},
    {F::kMultiply, "Multiply", "… | Multiply(x)", S::kStage, 1, 1, false},
    {F::kDivide, "Divide", "… | Divide(x)", S::kStage, 1, 1, false},
    {F::kEq, "Eq", "… | Eq(x)", S::kStage, 1, 1, false},
    {F::kNe, "Ne", "… | Ne(x)", S::kStage, 1, 1, false},
    {F::kLt, "Lt", "… | Lt(x)", S::kStage, 1, 1, false},
    {F::kLe, "Le", "… | Le(x)", S::kStage, 1, 1, false},
    {F::kGt, "Gt", "… | Gt(x)", S::kStage, 1, 1, false},
    {F::kGe, "Ge", "… | Ge(x)", S::kStage, 1, 1, false},
    {F::kAnd, "And", "… | And(x)", S::kStage, 1, 1, false},
    {F::kOr, "Or", "… | Or(x)", S::kStage, 1, 1, false},
    {F::kNot, "Not", "… | Not", S::kStage, 0, 0, false},
    {F::kIf, "If", "… | Gt(5ms) | If(\"slow\", \"fast\")", S::kStage, 2, 2, false},
    {F::kDefault, "Default", "… | Default(0)", S::kStage, 1, 1, false},
    {F::kRecordAs, "RecordAs", "… | RecordAs(\"name\")", S::kStage, 1, 1, false},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kFunctions); ++i) {
    if (static_cast<size_t>(kFunctions[i].function) != i) return false;
  }
  return true;
}
static_assert(InOrder(), "the table stands in the order of the enum");

}  // namespace

const FunctionInfo* FindFunction(std::string_view name) {
  for (const FunctionInfo& info : kFunctions) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const FunctionInfo& InfoOf(Function function) { return kFunctions[static_cast<size_t>(function)]; }

std::vector<std::string> FunctionNames() {
  std::vector<std::string> names;
  for (const FunctionInfo& info : kFunctions) names.emplace_back(info.name);
  return names;
}

}  // namespace wf::feature
