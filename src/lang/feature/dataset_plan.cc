#include "lang/feature/dataset_plan.h"

#include <algorithm>

#include "lang/feature/feature_compiler.h"
#include "lang/feature/plan_runner.h"

namespace wf::feature {

using feature::Element;
using feature::FeatureCompiler;
using feature::kNoNode;
using feature::LaneVector;
using feature::PlanRunner;
using feature::Shape;

struct DatasetPlan::Plan {
  feature::Plan plan;
  std::vector<ColumnDefinition> columns;
  std::vector<int> needed;  // the nodes of row and columns
};

namespace {

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

void CompileFilter(const std::string& text, FeatureCompiler& compiler) {
  if (IsBlank(text)) return;
  const int node = compiler.CompilePipelineText(text, "filter");
  if (node == kNoNode) return;
  const feature::Type type = compiler.builder.type(node);
  if (type.shape != Shape::kValue || !type.is_bool()) {
    compiler.Complain("filter", {1, 1, 1, "a filter gives true or false; this is " + TypeName(type),
                                 "as in: Blocks | Filter(name=\"checkout\") | Exists"});
    return;
  }
  compiler.builder.plan.filter = node;
}

void CompileRow(const std::string& text, FeatureCompiler& compiler) {
  if (IsBlank(text)) return;
  const int node = compiler.CompilePipelineText(text, "row");
  if (node == kNoNode) return;
  const feature::Type type = compiler.builder.type(node);
  if (type.element == Element::kTrace && type.shape == Shape::kElement) return;
  if (!type.is_element() && type.shape != Shape::kGroups) {
    compiler.Complain("row", {1, 1, 1, "rows are elements or groups; this is " + TypeName(type),
                              "as in: Trace, Blocks | Filter(kind=\"server\"), or Blocks | "
                              "GroupBy(page_piece)"});
    return;
  }
  feature::Node it;
  it.op = feature::Op::kIt;
  it.type = type.shape == Shape::kGroups ? feature::Type{Shape::kGroup, type.element}
                                         : feature::OneType(type.element);
  compiler.builder.plan.row = node;
  compiler.builder.plan.row_frame = compiler.builder.OpenFrame(node);
  compiler.SetRow(compiler.builder.Add(it, compiler.builder.plan.row_frame));
}

// By text, in the order in which the texts were read; within one by place.
void SortDiagnostics(std::vector<DatasetDiagnostic>& diagnostics) {
  std::vector<std::string> parts;
  const auto part_number = [&](const std::string& part) {
    const auto at = std::find(parts.begin(), parts.end(), part);
    return at - parts.begin();
  };
  for (const DatasetDiagnostic& d : diagnostics) {
    if (std::find(parts.begin(), parts.end(), d.part) == parts.end()) parts.push_back(d.part);
  }
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [&](const auto& a, const auto& b) {
    return std::make_tuple(part_number(a.part), a.diagnostic.line, a.diagnostic.column) <
           std::make_tuple(part_number(b.part), b.diagnostic.line, b.diagnostic.column);
  });
}

// What makes a row unique within its trace.
std::string RowKey(const feature::ElementView& view, const LaneVector& rows, size_t entry) {
  if (rows.type.shape == Shape::kGroups) return std::string(rows.keys[entry]);
  const uint32_t index = rows.items[entry];
  switch (rows.type.element) {
    case Element::kTrace:
      return "";
    case Element::kSegment:
    case Element::kGap:
    case Element::kPath:  // these have no id: their place in the order
      return std::to_string(entry);
    default:
      return ToHex64(view.Id(rows.type.element, index));
  }
}

void AppendValue(const LaneVector& from, size_t entry, TableColumn& to) {
  if (!from.valid[entry]) return to.AppendNull();
  switch (from.type.value) {
    case ColumnType::kBool:
    case ColumnType::kInt:
      return to.AppendInt(from.ints[entry]);
    case ColumnType::kDouble:
      return to.AppendDouble(from.doubles[entry]);
    case ColumnType::kText:
    case ColumnType::kStack:
      return to.AppendText(std::string(from.texts[entry]));
  }
}

}  // namespace

DatasetPlan::DatasetPlan(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

DatasetPlan::Compiled DatasetPlan::Compile(const DatasetText& text, const FeatureLibrary& library) {
  FeatureCompiler compiler(library);
  CompileFilter(text.filter, compiler);
  CompileRow(text.row, compiler);
  for (size_t i = 0; i < text.include.size(); ++i)
    compiler.CompileColumns(text.include[i], "include " + std::to_string(i + 1));
  compiler.CompileColumns(text.columns, "columns");

  Compiled out;
  out.diagnostics = std::move(compiler.diagnostics);
  SortDiagnostics(out.diagnostics);
  if (!out.diagnostics.empty()) return out;
  auto plan = std::make_shared<Plan>();
  plan->plan = std::move(compiler.builder.plan);
  plan->needed.push_back(plan->plan.row);
  for (const feature::PlanColumn& column : plan->plan.columns) {
    plan->columns.push_back(column.definition);
    plan->needed.push_back(column.node);
  }
  out.plan = DatasetPlan(std::move(plan));
  return out;
}

const std::vector<ColumnDefinition>& DatasetPlan::columns() const { return plan_->columns; }

size_t DatasetPlan::operators() const { return plan_->plan.nodes.size(); }

DatasetTable DatasetPlan::NewTable() const {
  DatasetTable table;
  for (const ColumnDefinition& column : FixedDatasetColumns())
    table.columns.push_back({column, {}, {}, {}, {}});
  for (const ColumnDefinition& column : plan_->columns)
    table.columns.push_back({column, {}, {}, {}, {}});
  return table;
}

namespace {

int64_t BudgetOf(const Trace& trace) {
  const auto elements = static_cast<int64_t>(trace.units.size() + trace.blocks.size() +
                                             trace.points.size() + trace.edges.size());
  return kBudgetPerTrace + kBudgetPerElement * elements;
}

}  // namespace

bool DatasetPlan::Wants(const Trace& trace) const {
  const feature::Plan& plan = plan_->plan;
  if (plan.filter == kNoNode || !trace.usable()) return true;
  PlanRunner runner(plan, trace, BudgetOf(trace));
  if (!runner.Evaluate({plan.filter})) return true;
  const LaneVector& filter = runner.at(plan.filter);
  return filter.valid[0] && filter.ints[0] != 0;
}

ExtractOutcome DatasetPlan::Extract(const Trace& trace, DatasetTable& table) const {
  ExtractOutcome outcome;
  if (!trace.usable()) {
    outcome.kind = ExtractOutcome::Kind::kUnusable;
    return outcome;
  }
  const int64_t budget = BudgetOf(trace);
  PlanRunner runner(plan_->plan, trace, budget);
  const feature::Plan& plan = plan_->plan;
  const auto over_budget = [&] {
    outcome.kind = ExtractOutcome::Kind::kOverBudget;
    outcome.cost = budget;
    return outcome;
  };
  if (plan.filter != kNoNode) {
    if (!runner.Evaluate({plan.filter})) return over_budget();
    const LaneVector& filter = runner.at(plan.filter);
    if (!filter.valid[0] || filter.ints[0] == 0) {
      outcome.kind = ExtractOutcome::Kind::kFiltered;
      outcome.cost = budget - runner.budget_left();
      return outcome;
    }
  }
  if (!runner.Evaluate(plan_->needed)) return over_budget();
  outcome.cost = budget - runner.budget_left();

  const LaneVector* rows = plan.row == kNoNode ? nullptr : &runner.at(plan.row);
  const size_t entries = rows == nullptr ? 1 : rows->entries();
  const std::string id = ToHex(trace.id);
  const size_t fixed = FixedDatasetColumns().size();
  for (size_t entry = 0; entry < entries; ++entry) {
    const bool absent = rows != nullptr && rows->type.is_element() && rows->items[entry] == kNone;
    if (absent) continue;
    if (outcome.rows >= kMaxRowsPerTrace) {
      ++outcome.rows_dropped;
      continue;
    }
    ++outcome.rows;
    table.columns[0].AppendText(id);
    table.columns[1].AppendInt(trace.start_ns);
    table.columns[2].AppendText(rows == nullptr ? "" : RowKey(runner.view(), *rows, entry));
    table.columns[3].AppendInt(trace.complete ? 1 : 0);
    for (size_t c = 0; c < plan.columns.size(); ++c) {
      const int node = plan.columns[c].node;
      const bool per_row = plan.nodes[static_cast<size_t>(node)].frame != 0;
      AppendValue(runner.at(node), per_row ? entry : 0, table.columns[fixed + c]);
    }
  }
  return outcome;
}

}  // namespace wf::feature
