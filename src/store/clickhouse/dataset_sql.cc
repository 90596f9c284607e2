#include "store/clickhouse/dataset_sql.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/utf8.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"
#include "store/row_query.h"

namespace wf::click {
namespace {

std::string IntSql(int64_t value) {
  // A minus and a number that has no positive of its own.
  if (value == INT64_MIN) return "(toInt64(-9223372036854775807) - 1)";
  return fmt::format("{}", value);
}

std::string LiteralSql(const ColumnLiteral& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1" : "0";
  if (const auto* whole = std::get_if<int64_t>(&value)) return IntSql(*whole);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("toFloat64({})", *real);
  return Quote(RepairUtf8(std::get<std::string>(value)));
}

std::string Cast(const std::string& text, ColumnType type) {
  switch (type) {
    case ColumnType::kBool:
    case ColumnType::kInt:
      return fmt::format("CAST({} AS Nullable(Int64))", text);
    case ColumnType::kDouble:
      return fmt::format("CAST({} AS Nullable(Float64))", text);
    case ColumnType::kText:
    case ColumnType::kStack:
      return fmt::format("CAST({} AS Nullable(String))", text);
  }
  return text;
}

// Ids are kept as numbers: equality is looked up there, anything else is asked of their text.
std::string TraceIds(const ColumnCondition& condition) {
  std::string text;
  for (const ColumnLiteral& value : condition.values) {
    const std::string& hex = std::get<std::string>(value);
    const auto id = ParseTraceId(hex);
    if (!id.ok() || ToHex(*id) != hex) continue;  // equals no id
    text += fmt::format("{}(trace_hi = {} AND trace_lo = {})", text.empty() ? "" : " OR ", id->hi,
                        id->lo);
  }
  return text.empty() ? "(1 = 0)" : "(" + text + ")";
}

// A comparison with null is null, and a row whose condition is null does not match, negated or not: so it is here too.
std::string ConditionSql(const DatasetState& state, const ColumnCondition& condition) {
  const std::string& c = state.Find(condition.column).stored;
  const std::string negation = condition.negated ? "NOT " : "";
  if (condition.op == CompareOp::kExists)
    return fmt::format("({} IS {}NULL)", c, condition.negated ? "" : "NOT ");
  if (condition.column == "trace_id" &&
      (condition.op == CompareOp::kEq || condition.op == CompareOp::kIn))
    return negation + TraceIds(condition);
  if (condition.op == CompareOp::kMatches)
    return fmt::format("{}match({}, {})", negation, c, LiteralSql(condition.values[0]));
  if (condition.op == CompareOp::kIn) {
    // Not by IN: that would make the values of the column's type, and 10.5 is no Int64.
    std::string any;
    for (const ColumnLiteral& value : condition.values)
      any += fmt::format("{}{} = {}", any.empty() ? "" : " OR ", c, LiteralSql(value));
    return fmt::format("{}({})", negation, any);
  }
  return fmt::format("{}({} {} {})", negation, c, CompareOpText(condition.op),
                     LiteralSql(condition.values[0]));
}

std::string WhereSql(const DatasetState& state, const CountingRows& rows,
                     const DatasetQuery& query) {
  std::string text = rows.where;
  for (const ColumnCondition& condition : query.where)
    text += " AND " + ConditionSql(state, condition);
  return text;
}

std::string BucketSql(Nanos bucket) {
  const std::string time = fmt::format("greatest(time_ns, {})", IntSql(INT64_MIN + bucket));
  return fmt::format("({0} - (({0} % toInt64({1}) + toInt64({1})) % toInt64({1})))", time, bucket);
}

std::string AggregateSql(const DatasetState& state, const Aggregate& a) {
  if (a.kind == AggregateKind::kCount && a.column.empty()) return "count()";
  const DatasetColumn& column = state.Find(a.column);
  const std::string& c = column.stored;
  switch (a.kind) {
    case AggregateKind::kCount:
      return fmt::format("count({})", c);
    case AggregateKind::kSum: {
      if (column.definition.type == ColumnType::kDouble)
        return fmt::format("ifNull(sum({}), 0)", c);
      // Exact beyond 64 bits, then held at their ends: the upper halves are added apart, with what the lower ones carry.
      const std::string upper = fmt::format(
          "(ifNull(sum(bitShiftRight(toInt64({0}), 32)), 0) + toInt64(bitShiftRight(ifNull(sum("
          "toUInt64(bitAnd(toInt64({0}), toInt64(4294967295)))), 0), 32)))",
          c);
      return fmt::format(
          "if({0} > 2147483647, toInt64(9223372036854775807), if({0} < -2147483648, {2}, "
          "ifNull(sum(toInt64({1})), toInt64(0))))",
          upper, c, IntSql(INT64_MIN));
    }
    case AggregateKind::kMean:
      return fmt::format("avg(toFloat64({}))", c);
    case AggregateKind::kMin:
      return fmt::format("min({})", c);
    case AggregateKind::kMax:
      return fmt::format("max({})", c);
    case AggregateKind::kPercentile:
      // By nearest rank, the smallest value with ceil(share · n) at or below it: that is what this one computes, where
      // quantileExact counts from 0. A hair less, because 0.95 · 20 is not 19 in doubles.
      return fmt::format("quantileExactWeighted({:.17f})({}, 1)", a.percentile / 100 * (1 - 1e-12),
                         c);
    case AggregateKind::kDistinct:
      return fmt::format("ifNull(uniqExact({}), 0)", c);
  }
  return "count()";
}

const char* DirectionSql(SortDirection direction) {
  return direction == SortDirection::kDescending ? " DESC NULLS LAST" : " ASC NULLS LAST";
}

size_t PlaceOf(const std::vector<ColumnDefinition>& columns, const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnDefinition& c) { return c.name == name; });
  return static_cast<size_t>(found - columns.begin());
}

// Outputs are o0, o1, …
class SelectList {
 public:
  explicit SelectList(const std::vector<ColumnDefinition>& columns) : columns_(columns) {}
  void Add(const std::string& text) {
    sql_ += fmt::format("{}{} AS o{}", count_ == 0 ? "" : ", ", Cast(text, columns_[count_].type),
                        count_);
    ++count_;
  }
  void AddGroup(const std::string& text) {
    groups_ += fmt::format("{}o{}", groups_.empty() ? " GROUP BY " : ", ", count_);
    Add(text);
  }
  std::string Order(const DatasetQuery& query) const {
    std::string order;
    for (const RowOrder& by : query.order)
      order += fmt::format("{}o{}{}", order.empty() ? " ORDER BY " : ", ",
                           PlaceOf(columns_, by.column), DirectionSql(by.direction));
    return order;
  }
  const std::string& sql() const { return sql_; }
  const std::string& groups() const { return groups_; }
  size_t count() const { return count_; }

 private:
  const std::vector<ColumnDefinition>& columns_;
  std::string sql_, groups_;
  size_t count_ = 0;
};

CountingRows Counting(const DatasetState& state, const TableNames& names, std::string table) {
  CountingRows out;
  out.from = std::move(table);
  const std::string committed = CommittedSql(state);
  out.where = committed;
  if (state.kept_from)
    out.where += fmt::format(" AND (time_ns >= {} OR written > {})", IntSql(*state.kept_from),
                             state.kept_written);
  if (!state.replaced) return out;
  // The replacements of a trace lie on the shard of its rows: each shard joins its own.
  out.from += fmt::format(
      " ANY LEFT JOIN (SELECT trace_hi, trace_lo, max(written) AS replaced FROM {} WHERE {} "
      "GROUP BY trace_hi, trace_lo) AS replacements USING (trace_hi, trace_lo)",
      names.Local(state.replacements_table()), committed);
  out.where += " AND written >= replaced";
  return out;
}

}  // namespace

std::string CommittedSql(const DatasetState& state) {
  std::string processes, written;
  for (const auto& [process, until] : state.committed) {
    processes += fmt::format("{}{}", processes.empty() ? "" : ", ", process);
    written += fmt::format("{}{}", written.empty() ? "" : ", ", until);
  }
  if (processes.empty()) return "1 = 0";
  return fmt::format("written <= transform(process, [{}], [{}], toUInt64(0))", processes, written);
}

CountingRows RowsThatCount(const DatasetState& state, const TableNames& names) {
  return Counting(state, names, names.All(state.rows_table()));
}
CountingRows LocalRowsThatCount(const DatasetState& state, const TableNames& names) {
  return Counting(state, names, names.Local(state.rows_table()));
}

RowSql QuerySql(const DatasetState& state, const TableNames& names, const DatasetQuery& query) {
  const CountingRows rows = RowsThatCount(state, names);
  RowSql sql;
  sql.columns = ResultColumns(state.definitions(), query);
  SelectList list(sql.columns);
  std::string order;
  if (query.grouped()) {
    if (query.bucket_ns) list.AddGroup(BucketSql(*query.bucket_ns));
    for (const std::string& name : query.group_by) list.AddGroup(state.Find(name).stored);
    for (const Aggregate& aggregate : query.aggregates) list.Add(AggregateSql(state, aggregate));
    order = list.Order(query);
    for (size_t i = 0; i < list.count(); ++i)
      order += fmt::format("{}o{} ASC NULLS LAST", order.empty() ? " ORDER BY " : ", ", i);
  } else {
    for (const ColumnDefinition& column : sql.columns) list.Add(state.Find(column.name).stored);
    order = list.Order(query);
    order += (order.empty() ? " ORDER BY " : ", ") +
             std::string("time_ns DESC, trace_hi, trace_lo, row_key");
  }
  sql.text =
      fmt::format("SELECT {} FROM {} WHERE {}{}{} LIMIT {} FORMAT RowBinary", list.sql(), rows.from,
                  WhereSql(state, rows, query), list.groups(), order, query.limit + 1);
  return sql;
}

RowSql WeightedRowsSql(const DatasetState& state, const TableNames& names,
                       const DatasetQuery& query, uint64_t slice, uint64_t slices) {
  const CountingRows rows = RowsThatCount(state, names);
  RowSql sql;
  for (const std::string& name : ColumnsUsed(query))
    sql.columns.push_back({name, state.Find(name).definition.type});
  sql.columns.push_back({"weight", ColumnType::kInt});
  SelectList list(sql.columns);
  for (size_t i = 0; i + 1 < sql.columns.size(); ++i)
    list.Add(state.Find(sql.columns[i].name).stored);
  list.Add("weight");
  sql.text = fmt::format(
      "SELECT {} FROM {} WHERE {}{} FORMAT RowBinary", list.sql(), rows.from,
      WhereSql(state, rows, query),
      slices < 2 ? ""
                 : fmt::format(" AND cityHash64(trace_hi, trace_lo) % {} = {}", slices, slice));
  return sql;
}

std::string CountMatchesSql(const DatasetState& state, const TableNames& names,
                            const DatasetQuery& query) {
  const CountingRows rows = RowsThatCount(state, names);
  return fmt::format("SELECT count() FROM {} WHERE {} FORMAT RowBinary", rows.from,
                     WhereSql(state, rows, query));
}

std::string NamedRowsSql(const DatasetState& state, const TableNames& names) {
  const CountingRows rows = RowsThatCount(state, names);
  std::string select;
  for (const DatasetColumn& column : state.columns)
    select += fmt::format("{}{} AS {}", select.empty() ? "" : ", ", column.stored,
                          QuoteName(column.visible_name()));
  if (state.sampled_before) select += ", weight";
  return fmt::format("SELECT {} FROM {} WHERE {}", select, rows.from, rows.where);
}

bool TouchesSampledRows(const DatasetState& state, const DatasetQuery& query) {
  if (!state.sampled_before) return false;
  return std::none_of(query.where.begin(), query.where.end(), [&](const ColumnCondition& c) {
    const bool from_below = c.op == CompareOp::kGt || c.op == CompareOp::kGe;
    if (c.column != "time_ns" || c.negated || !from_below) return false;
    const auto* bound = std::get_if<int64_t>(&c.values[0]);
    return bound != nullptr && *bound >= *state.sampled_before;
  });
}

Result<DatasetTable> ReadTable(std::string_view answer,
                               const std::vector<ColumnDefinition>& columns) {
  DatasetTable table;
  for (const ColumnDefinition& column : columns) table.columns.emplace_back().definition = column;
  RowReader reader(answer);
  while (reader.more()) {
    for (TableColumn& to : table.columns) {
      if (reader.Null()) {
        to.AppendNull();
        continue;
      }
      switch (to.definition.type) {
        case ColumnType::kBool:
        case ColumnType::kInt:
          to.AppendInt(reader.Number<int64_t>());
          break;
        case ColumnType::kDouble:
          to.AppendDouble(reader.Number<double>());
          break;
        case ColumnType::kText:
        case ColumnType::kStack:
          to.AppendText(std::string(reader.Text()));
          break;
      }
    }
  }
  WF_TRY(reader.status());
  return table;
}

}  // namespace wf::click
