#include "analysis/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/compare/statistics.h"

namespace wf::compare {
namespace {

// A text with more values than this is a name, not a category.
constexpr size_t kMaxCategories = 1000;
// χ² needs about five expected rows in each cell: rarer values are combined.
constexpr double kLeastExpected = 5;
// Fewer values than this on a side say nothing about the metric within a value.
constexpr size_t kLeastWithin = 5;

bool IsNumber(ColumnType type) { return type == ColumnType::kInt || type == ColumnType::kDouble; }

double NumberAt(const TableColumn& column, size_t row) {
  return column.definition.type == ColumnType::kDouble ? column.doubles[row]
                                                       : static_cast<double>(column.numbers[row]);
}

std::string CategoryAt(const TableColumn& column, size_t row) {
  if (column.definition.type == ColumnType::kBool)
    return column.numbers[row] != 0 ? "true" : "false";
  return column.texts[row];
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> NumbersOf(const TableColumn& column) {
  std::vector<double> out;
  for (size_t row = 0; row < column.size(); ++row) {
    if (column.valid[row] != 0) out.push_back(NumberAt(column, row));
  }
  return out;
}

ColumnDifference Shift(const TableColumn& a, const TableColumn& b) {
  ColumnDifference out;
  out.column = a.definition.name;
  const std::vector<double> values_a = NumbersOf(a), values_b = NumbersOf(b);
  out.a = Mean(values_a);
  out.b = Mean(values_b);
  const TestResult test = MannWhitney(values_a, values_b);
  out.p = test.p;
  out.effect = test.effect;
  if (values_a.empty() || values_b.empty()) out.effect = 0;
  return out;
}

// What is known about one value of a category.
struct Category {
  int64_t a = 0, b = 0;
  std::vector<double> metric_a, metric_b;
};
using Categories = std::map<std::string, Category>;

// False when there are too many.
bool Collect(const TableColumn& column, const TableColumn* metric, int64_t Category::*count,
             std::vector<double> Category::*values, Categories& out) {
  for (size_t row = 0; row < column.size(); ++row) {
    if (column.valid[row] == 0) continue;
    Category& category = out[CategoryAt(column, row)];
    ++(category.*count);
    if (metric != nullptr && metric->valid[row] != 0)
      (category.*values).push_back(NumberAt(*metric, row));
    if (out.size() > kMaxCategories) return false;
  }
  return true;
}

// The shares of a category's values.
ColumnDifference Mix(const std::string& name, const Categories& categories) {
  ColumnDifference out;
  out.column = name;
  out.question = CompareQuestion::kMix;
  int64_t total_a = 0, total_b = 0;
  for (const auto& [value, category] : categories) total_a += category.a, total_b += category.b;
  const double smaller = static_cast<double>(std::min(total_a, total_b));
  const double total = static_cast<double>(total_a + total_b);
  std::vector<int64_t> counts_a, counts_b;
  int64_t rare_a = 0, rare_b = 0;
  double most = -1;
  for (const auto& [value, category] : categories) {
    const double share_a =
        total_a == 0 ? 0 : static_cast<double>(category.a) / static_cast<double>(total_a);
    const double share_b =
        total_b == 0 ? 0 : static_cast<double>(category.b) / static_cast<double>(total_b);
    if (std::abs(share_b - share_a) > most) {
      most = std::abs(share_b - share_a);
      out.value = value;
      out.a = share_a;
      out.b = share_b;
    }
    if (static_cast<double>(category.a + category.b) * smaller / total < kLeastExpected) {
      rare_a += category.a;
      rare_b += category.b;
    } else {
      counts_a.push_back(category.a);
      counts_b.push_back(category.b);
    }
  }
  if (static_cast<double>(rare_a + rare_b) * smaller / total >= kLeastExpected) {
    counts_a.push_back(rare_a);
    counts_b.push_back(rare_b);
  }
  const TestResult test = ChiSquared(counts_a, counts_b);
  out.p = test.p;
  out.effect = out.b < out.a ? -test.effect : test.effect;
  return out;
}

void Within(const std::string& name, const Categories& categories,
            std::vector<ColumnDifference>& out) {
  if (categories.size() < 2) return;  // the metric itself says as much
  for (const auto& [value, category] : categories) {
    if (category.metric_a.size() < kLeastWithin || category.metric_b.size() < kLeastWithin)
      continue;
    ColumnDifference one;
    one.column = name;
    one.value = value;
    one.question = CompareQuestion::kWithin;
    one.a = Mean(category.metric_a);
    one.b = Mean(category.metric_b);
    const TestResult test = MannWhitney(category.metric_a, category.metric_b);
    one.p = test.p;
    one.effect = test.effect;
    out.push_back(std::move(one));
  }
}

const TableColumn* Find(const DatasetTable& table, const std::string& name) {
  for (const TableColumn& column : table.columns) {
    if (column.definition.name == name) return &column;
  }
  return nullptr;
}

bool TakesPart(const std::string& name, const CompareOptions& options) {
  if (name == "trace_id" || name == "time_ns" || name == options.metric) return false;
  return std::find(options.excluded.begin(), options.excluded.end(), name) ==
         options.excluded.end();
}

// Significant first, then by the size of the effect; equals by name, so that an answer is always the same.
void Rank(Comparison& comparison) {
  std::vector<double> p;
  for (const ColumnDifference& one : comparison.differences) p.push_back(one.p);
  const std::vector<double> q = BenjaminiHochberg(p);
  for (size_t i = 0; i < q.size(); ++i) comparison.differences[i].q = q[i];
  const auto significant = [](const ColumnDifference& one) { return one.q <= kFalseDiscoveryRate; };
  std::sort(comparison.differences.begin(), comparison.differences.end(),
            [&](const ColumnDifference& x, const ColumnDifference& y) {
              if (significant(x) != significant(y)) return significant(x);
              if (std::abs(x.effect) != std::abs(y.effect))
                return std::abs(x.effect) > std::abs(y.effect);
              if (x.p != y.p) return x.p < y.p;
              return std::tie(x.column, x.value, x.question) <
                     std::tie(y.column, y.value, y.question);
            });
  comparison.significant = static_cast<size_t>(
      std::count_if(comparison.differences.begin(), comparison.differences.end(), significant));
}

}  // namespace

std::string_view CompareQuestionName(CompareQuestion question) {
  constexpr std::string_view names[] = {"shift", "mix", "within"};
  return names[static_cast<size_t>(question)];
}

Comparison ComparePopulations(const DatasetTable& a, const DatasetTable& b,
                              const CompareOptions& options) {
  Comparison out;
  const TableColumn* metric_a = Find(a, options.metric);
  const TableColumn* metric_b = Find(b, options.metric);
  if (metric_a != nullptr && metric_b != nullptr) {
    out.metric = Shift(*metric_a, *metric_b);
    out.metric.q = out.metric.p;
  }
  for (const TableColumn& column_a : a.columns) {
    const std::string& name = column_a.definition.name;
    const TableColumn* column_b = Find(b, name);
    if (column_b == nullptr || !TakesPart(name, options)) continue;
    if (IsNumber(column_a.definition.type)) {
      out.differences.push_back(Shift(column_a, *column_b));
      continue;
    }
    Categories categories;
    if (!Collect(column_a, metric_a, &Category::a, &Category::metric_a, categories) ||
        !Collect(*column_b, metric_b, &Category::b, &Category::metric_b, categories))
      continue;
    if (categories.size() < 2) continue;  // the same everywhere: nothing to test
    out.differences.push_back(Mix(name, categories));
    if (metric_a != nullptr) Within(name, categories, out.differences);
  }
  Rank(out);
  return out;
}

}  // namespace wf::compare
