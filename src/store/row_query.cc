#include "store/row_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <regex>

namespace wf::store {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row[b.size()];
}

bool IsText(ColumnType type) { return type == ColumnType::kText || type == ColumnType::kStack; }
bool IsNumber(ColumnType type) { return type == ColumnType::kInt || type == ColumnType::kDouble; }

Status CheckCondition(const ColumnDefinition& column, const ColumnCondition& condition) {
  const auto refuse = [&](std::string_view why, std::string hint) {
    return BadInput(fmt::format("\"{}\" is {}: {}", column.name, ColumnTypeName(column.type), why),
                    std::move(hint));
  };
  if (condition.op == CompareOp::kExists) return {};
  if (condition.values.empty()) return refuse("nothing to compare it with", "give a value");
  if (condition.op == CompareOp::kMatches && !IsText(column.type))
    return refuse("~ is for texts", "compare it with = or <");
  if (column.type == ColumnType::kBool && condition.op != CompareOp::kEq &&
      condition.op != CompareOp::kNe && condition.op != CompareOp::kIn)
    return refuse("it has no order", "compare it with = true or = false");
  for (const ColumnLiteral& value : condition.values) {
    const bool text = std::holds_alternative<std::string>(value);
    const bool boolean = std::holds_alternative<bool>(value);
    if (IsText(column.type) && !text) return refuse("compare it with a text", "write \"…\"");
    if (IsNumber(column.type) && (text || boolean))
      return refuse("compare it with a number", "write a number, as in 250ms or 1.5");
    if (column.type == ColumnType::kBool && !boolean)
      return refuse("compare it with true or false", "write true or false");
  }
  return {};
}

Status CheckAggregate(const std::vector<ColumnDefinition>& columns, const Aggregate& aggregate) {
  if (aggregate.kind == AggregateKind::kCount && aggregate.column.empty()) return {};
  WF_ASSIGN(const ColumnDefinition column, FindColumn(columns, aggregate.column));
  const bool arithmetic = aggregate.kind == AggregateKind::kSum ||
                          aggregate.kind == AggregateKind::kMean ||
                          aggregate.kind == AggregateKind::kPercentile;
  if (arithmetic && IsText(column.type)) {
    return BadInput(fmt::format("{}: \"{}\" is {}, not a number", aggregate.name, column.name,
                                ColumnTypeName(column.type)),
                    "count, distinct, min and max work on texts");
  }
  if (aggregate.kind == AggregateKind::kPercentile &&
      !(aggregate.percentile > 0 && aggregate.percentile <= 100)) {
    return BadInput(fmt::format("{}: a percentile is above 0 and at most 100", aggregate.name),
                    "as in p50, p99 or p99.9");
  }
  return {};
}

// -1, 0, 1 of a cell against a literal that CheckCondition allowed.
int Compare(const TableColumn& column, size_t row, const ColumnLiteral& value) {
  const auto sign = [](auto a, auto b) { return a < b ? -1 : b < a ? 1 : 0; };
  if (IsText(column.definition.type))
    return sign(std::string_view(column.texts[row]),
                std::string_view(std::get<std::string>(value)));
  if (const auto* boolean = std::get_if<bool>(&value))
    return sign(column.numbers[row], int64_t{*boolean ? 1 : 0});
  if (column.definition.type == ColumnType::kDouble) {
    const auto* whole = std::get_if<int64_t>(&value);
    return sign(column.doubles[row],
                whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value));
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) return sign(column.numbers[row], *whole);
  return sign(static_cast<double>(column.numbers[row]), std::get<double>(value));
}

bool Holds(const ColumnCondition& condition, const TableColumn& column, size_t row) {
  switch (condition.op) {
    case CompareOp::kEq:
      return Compare(column, row, condition.values[0]) == 0;
    case CompareOp::kNe:
      return Compare(column, row, condition.values[0]) != 0;
    case CompareOp::kLt:
      return Compare(column, row, condition.values[0]) < 0;
    case CompareOp::kLe:
      return Compare(column, row, condition.values[0]) <= 0;
    case CompareOp::kGt:
      return Compare(column, row, condition.values[0]) > 0;
    case CompareOp::kGe:
      return Compare(column, row, condition.values[0]) >= 0;
    case CompareOp::kIn:
      return std::any_of(condition.values.begin(), condition.values.end(),
                         [&](const ColumnLiteral& v) { return Compare(column, row, v) == 0; });
    case CompareOp::kMatches:
      try {
        return std::regex_search(column.texts[row],
                                 std::regex(std::get<std::string>(condition.values[0])));
      } catch (const std::regex_error&) {
        return false;
      }
    case CompareOp::kExists:
      return true;
  }
  return false;
}

}  // namespace

Result<ColumnDefinition> FindColumn(const std::vector<ColumnDefinition>& columns,
                                    const std::string& name) {
  const ColumnDefinition* nearest = nullptr;
  size_t distance = name.size() / 3 + 2;  // farther than this is no slip of the pen
  for (const ColumnDefinition& column : columns) {
    if (column.name == name) return column;
    if (const size_t d = EditDistance(column.name, name); d < distance)
      distance = d, nearest = &column;
  }
  return BadInput(fmt::format("\"{}\" is not a column of this dataset", name),
                  nearest != nullptr ? fmt::format("did you mean \"{}\"?", nearest->name)
                                     : "wherefore dataset columns NAME lists them");
}

Status CheckDatasetTable(const std::string& dataset, const DatasetTable& rows) {
  const auto& fixed = FixedDatasetColumns();
  bool good = rows.columns.size() >= fixed.size();
  for (size_t i = 0; good && i < fixed.size(); ++i) good = rows.columns[i].definition == fixed[i];
  for (size_t i = 0; good && i < rows.columns.size(); ++i)
    good = rows.columns[i].size() == rows.rows();
  if (good) return {};
  return BadInput(
      fmt::format("dataset {}: the rows lack the columns that every dataset has", dataset),
      "this is a fault of the program that wrote them");
}

bool AsksForSampledRows(std::optional<Nanos> sampled_before, const DatasetQuery& query) {
  if (!sampled_before) return false;
  return std::none_of(query.where.begin(), query.where.end(), [&](const ColumnCondition& c) {
    const bool from_below = c.op == CompareOp::kGt || c.op == CompareOp::kGe;
    if (c.column != "time_ns" || c.negated || !from_below) return false;
    const auto* bound = std::get_if<int64_t>(&c.values[0]);
    return bound != nullptr && *bound >= *sampled_before;
  });
}

Status CheckQuery(const std::vector<ColumnDefinition>& columns, const DatasetQuery& query) {
  for (const ColumnCondition& condition : query.where) {
    WF_ASSIGN(const ColumnDefinition column, FindColumn(columns, condition.column));
    WF_TRY(CheckCondition(column, condition));
  }
  for (const std::string& name : query.group_by) WF_TRY(FindColumn(columns, name));
  for (const std::string& name : query.columns) WF_TRY(FindColumn(columns, name));
  for (const Aggregate& aggregate : query.aggregates) WF_TRY(CheckAggregate(columns, aggregate));
  if (query.bucket_ns && *query.bucket_ns <= 0)
    return BadInput("a time bucket must be longer than nothing", "as in 1m");
  const auto result = ResultColumns(columns, query);
  for (size_t i = 0; i < result.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (result[i].name == result[j].name)
        return BadInput(fmt::format("\"{}\" is asked for twice", result[i].name),
                        "name each result once");
    }
  }
  for (const RowOrder& order : query.order) {
    const bool there = std::any_of(result.begin(), result.end(), [&](const ColumnDefinition& c) {
      return c.name == order.column;
    });
    if (!there)
      return BadInput(
          fmt::format("the result cannot be ordered by \"{}\": it is not in it", order.column),
          "order by a group, or by an aggregate as it is written");
  }
  return {};
}

std::vector<std::string> ColumnsUsed(const DatasetQuery& query) {
  std::vector<std::string> used;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::find(used.begin(), used.end(), name) == used.end())
      used.push_back(name);
  };
  for (const ColumnCondition& condition : query.where) add(condition.column);
  if (query.bucket_ns) add("time_ns");
  for (const std::string& name : query.group_by) add(name);
  for (const Aggregate& aggregate : query.aggregates) add(aggregate.column);
  for (const std::string& name : query.columns) add(name);
  return used;
}

std::vector<ColumnDefinition> ResultColumns(const std::vector<ColumnDefinition>& columns,
                                            const DatasetQuery& query) {
  std::vector<ColumnDefinition> out;
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const ColumnDefinition& c) { return c.name == name; });
    return found != columns.end() ? *found : ColumnDefinition{name, ColumnType::kInt};
  };
  if (!query.grouped()) {
    if (query.columns.empty()) return columns;
    for (const std::string& name : query.columns) out.push_back(find(name));
    return out;
  }
  if (query.bucket_ns) out.push_back({"time_ns", ColumnType::kInt});
  for (const std::string& name : query.group_by) out.push_back(find(name));
  for (const Aggregate& aggregate : query.aggregates)
    out.push_back({aggregate.name, AggregateType(aggregate.kind, find(aggregate.column).type)});
  return out;
}

const TableColumn* ColumnNamed(const DatasetTable& table, std::string_view name) {
  for (const TableColumn& column : table.columns) {
    if (column.definition.name == name) return &column;
  }
  return nullptr;
}

bool RowMatches(const std::vector<ColumnCondition>& where, const DatasetTable& table, size_t row) {
  return std::all_of(where.begin(), where.end(), [&](const ColumnCondition& condition) {
    const TableColumn* column = ColumnNamed(table, condition.column);
    const bool there = column != nullptr && column->valid[row] != 0;
    if (condition.op == CompareOp::kExists) return there != condition.negated;
    return there && Holds(condition, *column, row) != condition.negated;
  });
}

void CopyCell(const TableColumn& from, size_t row, TableColumn& to) {
  if (from.valid[row] == 0) return to.AppendNull();
  switch (to.definition.type) {
    case ColumnType::kBool:
    case ColumnType::kInt:
      return to.AppendInt(from.numbers[row]);
    case ColumnType::kDouble:
      return to.AppendDouble(from.doubles[row]);
    case ColumnType::kText:
    case ColumnType::kStack:
      return to.AppendText(from.texts[row]);
  }
}

Nanos BucketStart(Nanos t, Nanos bucket) {
  const Nanos rest = (t % bucket + bucket) % bucket;
  return SaturatingSub(t, rest);
}

double SteadyDouble(double value) {
  if (!std::isfinite(value)) return value;
  return std::strtod(fmt::format("{:.14e}", value).c_str(), nullptr);
}

bool RowAggregator::Cell::operator<(const Cell& o) const {
  if (null != o.null) return o.null;
  if (number != o.number) return number < o.number;
  if (real != o.real) return real < o.real;
  return text < o.text;
}

RowAggregator::RowAggregator(const std::vector<ColumnDefinition>& columns,
                             const DatasetQuery& query, Bounds bounds)
    : columns_(columns), query_(query), bounds_(bounds) {
  // Without groups there is one, even of no rows.
  if (query.group_by.empty() && !query.bucket_ns) groups_[{}].resize(query.aggregates.size());
}

RowAggregator::Cell RowAggregator::CellOf(const TableColumn& column, size_t row) {
  Cell cell;
  cell.null = column.valid[row] == 0;
  if (cell.null) return cell;
  if (IsText(column.definition.type)) {
    cell.text = column.texts[row];
  } else if (column.definition.type == ColumnType::kDouble) {
    cell.real = column.doubles[row];
  } else {
    cell.number = column.numbers[row];
  }
  return cell;
}

void RowAggregator::AppendCell(const Cell& cell, TableColumn& to) {
  if (cell.null) return to.AppendNull();
  if (IsText(to.definition.type)) return to.AppendText(cell.text);
  if (to.definition.type == ColumnType::kDouble) return to.AppendDouble(cell.real);
  to.AppendInt(cell.number);
}

void RowAggregator::Add(const DatasetTable& rows, const std::vector<int64_t>& weights) {
  std::vector<const TableColumn*> keys, inputs;
  const TableColumn* time = query_.bucket_ns ? ColumnNamed(rows, "time_ns") : nullptr;
  for (const std::string& name : query_.group_by) keys.push_back(ColumnNamed(rows, name));
  for (const Aggregate& aggregate : query_.aggregates)
    inputs.push_back(aggregate.column.empty() ? nullptr : ColumnNamed(rows, aggregate.column));
  for (size_t row = 0; row < rows.rows(); ++row) {
    std::vector<Cell> key;
    if (time != nullptr) {
      key.emplace_back();
      key.back().number = BucketStart(time->numbers[row], *query_.bucket_ns);
    }
    for (const TableColumn* column : keys) key.push_back(CellOf(*column, row));
    Group& group = groups_[std::move(key)];
    group.resize(query_.aggregates.size());
    const double w = weights.empty() ? 1 : static_cast<double>(weights[row]);
    for (size_t i = 0; i < group.size(); ++i) {
      const TableColumn* input = inputs[i];
      if (input != nullptr && input->valid[row] == 0) continue;
      Sums& sums = group[i];
      const AggregateKind kind = query_.aggregates[i].kind;
      sums.rows += 1;
      sums.weight += w;
      sums.slack += w * (w - 1);
      sums.all_whole &= w == 1;
      if (input == nullptr) continue;
      const Cell cell = CellOf(*input, row);
      if (!IsText(input->definition.type)) {
        const double x = input->definition.type == ColumnType::kDouble
                             ? cell.real
                             : static_cast<double>(cell.number);
        sums.total += w * x;
        sums.slack_x += w * (w - 1) * x;
        sums.slack_xx += w * (w - 1) * x * x;
        sums.exact_total = SaturatingAdd(sums.exact_total, cell.number);
        if (kind == AggregateKind::kPercentile) {
          sums.values.push_back({x, w});
          sums.whole_values.push_back(cell.number);
        }
      }
      if (!sums.any || cell < sums.least) sums.least = cell;
      if (!sums.any || sums.greatest < cell) sums.greatest = cell;
      sums.any = true;
      if (kind == AggregateKind::kDistinct) sums.distinct[cell] = true;
    }
  }
}

namespace {

bool HasBounds(AggregateKind kind) {
  return kind == AggregateKind::kCount || kind == AggregateKind::kSum ||
         kind == AggregateKind::kMean || kind == AggregateKind::kPercentile;
}

// An integer from an estimate, held at the ends of its range.
int64_t Whole(double value) {
  if (value >= 9.2e18) return INT64_MAX;
  if (value <= -9.2e18) return INT64_MIN;
  return std::llround(value);
}

void AppendNumber(double value, TableColumn& to) {
  if (to.definition.type == ColumnType::kDouble) return to.AppendDouble(SteadyDouble(value));
  to.AppendInt(Whole(value));
}

}  // namespace

void AppendEstimate(const Aggregate& aggregate, const WeightedSums& sums, Bounds bounds,
                    DatasetTable& out, size_t& column) {
  TableColumn& to = out.columns[column++];
  const bool nothing = aggregate.kind == AggregateKind::kMean && sums.weight == 0;
  double value = 0, deviation = 0, least = -INFINITY;
  if (aggregate.kind == AggregateKind::kCount) {
    value = sums.weight;
    deviation = std::sqrt(sums.slack);
    least = sums.rows;  // those are there
  } else if (aggregate.kind == AggregateKind::kSum) {
    value = sums.total;
    deviation = std::sqrt(sums.slack_xx);
  } else if (!nothing) {
    value = sums.total / sums.weight;
    const double variance = sums.slack_xx - 2 * value * sums.slack_x + value * value * sums.slack;
    deviation = std::sqrt(std::max(0.0, variance)) / sums.weight;
  }
  if (nothing) {
    to.AppendNull();
  } else if (aggregate.kind == AggregateKind::kSum && to.definition.type == ColumnType::kInt &&
             sums.all_whole) {
    to.AppendInt(sums.exact_total);
  } else {
    AppendNumber(value, to);
  }
  if (bounds == Bounds::kNone) return;
  for (const double side : {-kBoundDeviations, kBoundDeviations}) {
    TableColumn& bound = out.columns[column++];
    if (nothing) {
      bound.AppendNull();
    } else {
      AppendNumber(std::max(least, value + side * deviation), bound);
    }
  }
}

DatasetTable EmptyResult(const std::vector<ColumnDefinition>& columns, const DatasetQuery& query,
                         Bounds bounds) {
  DatasetTable out;
  const size_t keys = query.group_by.size() + (query.bucket_ns ? 1 : 0);
  const auto result = ResultColumns(columns, query);
  for (size_t i = 0; i < result.size(); ++i) {
    out.columns.emplace_back().definition = result[i];
    if (i < keys || bounds == Bounds::kNone || !HasBounds(query.aggregates[i - keys].kind))
      continue;
    for (const char* side : {"_low", "_high"})
      out.columns.emplace_back().definition = {result[i].name + side, result[i].type};
  }
  return out;
}

void RowAggregator::AppendAggregate(size_t i, const Sums& sums, DatasetTable& out,
                                    size_t& column) const {
  const Aggregate& aggregate = query_.aggregates[i];
  switch (aggregate.kind) {
    case AggregateKind::kDistinct:
      return out.columns[column++].AppendInt(static_cast<int64_t>(sums.distinct.size()));
    case AggregateKind::kMin:
    case AggregateKind::kMax: {
      TableColumn& to = out.columns[column++];
      if (!sums.any) return to.AppendNull();
      return AppendCell(aggregate.kind == AggregateKind::kMin ? sums.least : sums.greatest, to);
    }
    case AggregateKind::kPercentile:
      return AppendPercentile(i, sums, out, column);
    case AggregateKind::kCount:
    case AggregateKind::kSum:
    case AggregateKind::kMean:
      return AppendEstimate(aggregate, sums, bounds_, out, column);
  }
}

void RowAggregator::AppendPercentile(size_t i, const Sums& sums, DatasetTable& out,
                                     size_t& column) const {
  TableColumn& to = out.columns[column++];
  std::vector<uint32_t> order(sums.values.size());
  std::iota(order.begin(), order.end(), 0u);
  const bool whole = to.definition.type != ColumnType::kDouble;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return whole ? sums.whole_values[a] < sums.whole_values[b]
                 : sums.values[a].value < sums.values[b].value;
  });
  const auto append = [&](double share, TableColumn& column_out) {
    if (order.empty()) return column_out.AppendNull();
    // A hair less, because 0.95 · 20 is not 19 in doubles.
    const double rank = share * sums.weight * (1 - 1e-12);
    double below = 0;
    uint32_t found = order.back();
    for (const uint32_t at : order) {
      below += sums.values[at].weight;
      if (below >= rank) {
        found = at;
        break;
      }
    }
    whole ? column_out.AppendInt(sums.whole_values[found])
          : column_out.AppendDouble(sums.values[found].value);
  };
  const double share = query_.aggregates[i].percentile / 100;
  append(share, to);
  if (bounds_ == Bounds::kNone) return;
  double deviation = 0;
  if (!order.empty()) {
    const size_t row = to.size() - 1;
    const double value = whole ? static_cast<double>(to.numbers[row]) : to.doubles[row];
    double at_most = 0;
    for (const Weighted& one : sums.values)
      at_most += one.value <= value ? one.weight * (one.weight - 1) : 0;
    const double variance =
        (1 - share) * (1 - share) * at_most + share * share * (sums.slack - at_most);
    deviation = std::sqrt(std::max(0.0, variance)) / sums.weight;
  }
  append(std::max(0.0, share - kBoundDeviations * deviation), out.columns[column++]);
  append(share + kBoundDeviations * deviation, out.columns[column++]);
}

DatasetRows RowAggregator::Finish() const {
  DatasetRows out;
  out.estimated = bounds_ == Bounds::kShow;
  out.table = EmptyResult(columns_, query_, bounds_);
  for (const auto& [key, group] : groups_) {
    for (size_t i = 0; i < key.size(); ++i) AppendCell(key[i], out.table.columns[i]);
    size_t column = key.size();
    for (size_t i = 0; i < group.size(); ++i) AppendAggregate(i, group[i], out.table, column);
  }
  OrderAndLimit(query_, out);
  return out;
}

void OrderAndLimit(const DatasetQuery& query, DatasetRows& rows) {
  struct Key {
    const TableColumn* column;
    SortDirection direction;
  };
  std::vector<Key> keys;
  for (const RowOrder& order : query.order) {
    if (const TableColumn* column = ColumnNamed(rows.table, order.column))
      keys.push_back({column, order.direction});
  }
  for (const TableColumn& column : rows.table.columns)
    keys.push_back({&column, SortDirection::kAscending});
  const auto compare = [](const TableColumn& c, uint32_t a, uint32_t b) {
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (IsText(c.definition.type)) return sign(c.texts[a], c.texts[b]);
    if (c.definition.type == ColumnType::kDouble) return sign(c.doubles[a], c.doubles[b]);
    return sign(c.numbers[a], c.numbers[b]);
  };
  std::vector<uint32_t> order(rows.table.rows());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (const Key& key : keys) {
      const TableColumn& c = *key.column;
      if (c.valid[a] != c.valid[b]) return c.valid[a] > c.valid[b];
      if (c.valid[a] == 0) continue;
      const int sign = compare(c, a, b);
      if (sign != 0) return key.direction == SortDirection::kAscending ? sign < 0 : sign > 0;
    }
    return false;
  });
  rows.more = order.size() > query.limit;
  if (rows.more) order.resize(query.limit);
  DatasetTable sorted;
  for (const TableColumn& from : rows.table.columns) {
    TableColumn& to = sorted.columns.emplace_back();
    to.definition = from.definition;
    for (const uint32_t row : order) CopyCell(from, row, to);
  }
  rows.table = std::move(sorted);
}

}  // namespace wf::store
