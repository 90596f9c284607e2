#include "store/clickhouse/dataset_sql.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/utf8.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/sql_text.h"
#include "store/row_query.h"

namespace wf::store::clickhouse {
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
    // Of no rows these are null, also of columns that never are.
    case AggregateKind::kMean:
      return fmt::format("avg(toFloat64(toNullable({})))", c);
    case AggregateKind::kMin:
      return fmt::format("min(toNullable({}))", c);
    case AggregateKind::kMax:
      return fmt::format("max(toNullable({}))", c);
    case AggregateKind::kPercentile:
      // By nearest rank, the smallest value with ceil(share · n) at or below it: that is what this one computes, where
      // quantileExact counts from 0. A hair less, because 0.95 · 20 is not 19 in doubles.
      return fmt::format("quantileExactWeighted({:.17f})(toNullable({}), 1)",
                         a.percentile / 100 * (1 - 1e-12), c);
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
class DatasetSelectList {
 public:
  explicit DatasetSelectList(const std::vector<ColumnDefinition>& columns) : columns_(columns) {}
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

// Count, sum and mean: what AppendEstimate makes of sums. The others are answered by the server itself.
bool IsOfSums(AggregateKind kind) {
  return kind == AggregateKind::kCount || kind == AggregateKind::kSum ||
         kind == AggregateKind::kMean;
}

// The outputs of a question about rows with weights (row_query.h has the formulas), in three layers: each group's sums,
// which the shards make; the places in a percentile's sorted values; the outputs.
class Estimates {
 public:
  Estimates(const DatasetState& state, const DatasetQuery& query) : state_(state) {
    if (query.bucket_ns) AddKey(BucketSql(*query.bucket_ns), {"time_ns", ColumnType::kInt});
    for (const std::string& name : query.group_by) {
      const DatasetColumn& column = state.Find(name);
      AddKey(column.stored, {name, column.definition.type});
    }
    for (const Aggregate& aggregate : query.aggregates) {
      if (IsOfSums(aggregate.kind)) {
        AddSums(aggregate);
      } else if (aggregate.kind == AggregateKind::kPercentile) {
        AddPercentile(aggregate);
      } else {
        const ColumnType type = state.Find(aggregate.column).definition.type;
        Output(Sum(AggregateSql(state, aggregate)),
               {aggregate.name, AggregateType(aggregate.kind, type)});
      }
    }
    for (const RowOrder& by : query.order)
      order_.push_back(
          fmt::format("o{}{}", PlaceOf(columns_, by.column), DirectionSql(by.direction)));
    for (size_t i = 0; i < keys_.size(); ++i)
      order_.push_back(fmt::format("o{} ASC NULLS LAST", i));
  }

  RowSql Select(const std::string& from, const std::string& where, size_t limit) const {
    const auto clause = [](std::string_view words, const std::vector<std::string>& list) {
      return list.empty() ? "" : fmt::format(" {} {}", words, fmt::join(list, ", "));
    };
    return {fmt::format("SELECT {} FROM (SELECT {} FROM (SELECT {} FROM {} WHERE {}{})){} LIMIT {} "
                        "FORMAT RowBinary",
                        fmt::join(outputs_, ", "), fmt::join(places_, ", "), fmt::join(sums_, ", "),
                        from, where, clause("GROUP BY", keys_), clause("ORDER BY", order_), limit),
            columns_};
  }

 private:
  // Adds to a layer; what it says is from there on called by the name returned.
  std::string Sum(const std::string& text) {
    const std::string name = fmt::format("s{}", sums_.size());
    sums_.push_back(text + " AS " + name);
    return name;
  }
  std::string Place(const std::string& text) {
    const std::string name = fmt::format("p{}", places_.size());
    places_.push_back(text + " AS " + name);
    return name;
  }
  void Output(const std::string& text, ColumnDefinition definition) {
    outputs_.push_back(fmt::format("{} AS o{}", Cast(text, definition.type), outputs_.size()));
    columns_.push_back(std::move(definition));
  }

  void AddKey(const std::string& text, ColumnDefinition definition) {
    keys_.push_back(Sum(text));
    Output(keys_.back(), std::move(definition));
  }

  // In the order in which ReadEstimates reads them; the first is what the answer is ordered by.
  void AddSums(const Aggregate& a) {
    std::string there = "1", x = "toFloat64(0)", exact = "0";
    if (!a.column.empty()) {
      const DatasetColumn& column = state_.Find(a.column);
      there = fmt::format("isNotNull({})", column.stored);
      if (a.kind != AggregateKind::kCount)
        x = fmt::format("ifNull(toFloat64({}), 0)", column.stored);
      if (a.kind == AggregateKind::kSum) exact = Sum(AggregateSql(state_, a));
    }
    const std::string w = fmt::format("({} * toFloat64(weight))", there);
    const auto sum = [&](const std::string& text) { return Sum("sum(" + text + ")"); };
    const std::string weight = sum(w);
    const std::string total = sum(fmt::format("{} * {}", w, x));
    const std::string ordered = a.kind == AggregateKind::kCount ? weight
                                : a.kind == AggregateKind::kSum
                                    ? total
                                    : fmt::format("if({0} = 0, NULL, {1} / {0})", weight, total);
    Output(ordered, {a.name, ColumnType::kDouble});
    for (const std::string& text :
         {weight, total, sum(fmt::format("toFloat64({})", there)),
          sum(fmt::format("{} * ({} - 1)", w, w)), sum(fmt::format("{0} * ({0} - 1) * {1}", w, x)),
          sum(fmt::format("{0} * ({0} - 1) * {1} * {1}", w, x))})
      Output(text, {"", ColumnType::kDouble});
    Output(exact, {"", ColumnType::kInt});
  }

  // The weight at each value travels, as it does for quantileExactWeighted; what that does not tell are the bounds.
  void AddPercentile(const Aggregate& a) {
    const DatasetColumn& column = state_.Find(a.column);
    const ColumnType type = AggregateType(a.kind, column.definition.type);
    const std::string weights = Sum(fmt::format(
        "sumMapIf([{0}(assumeNotNull({1}))], [weight], [weight * (weight - 1)], isNotNull({1}))",
        type == ColumnType::kDouble ? "toFloat64" : "toInt64", column.stored));
    const std::string values = Place(fmt::format("tupleElement({}, 1)", weights));
    const std::string below = Place(fmt::format("arrayCumSum(tupleElement({}, 2))", weights));
    const std::string slack = Place(fmt::format("arrayCumSum(tupleElement({}, 3))", weights));
    const std::string all = Place(fmt::format("toFloat64({}[-1])", below));
    const auto at = [&](const std::string& share) {
      return Place(fmt::format(
          "least(1 + arrayCount(b -> toFloat64(b) < {} * {} * (1 - 1e-12), {}), length({}))", share,
          all, below, below));
    };
    const std::string share = fmt::format("toFloat64({})", a.percentile / 100);
    const std::string found = at(share);
    const std::string deviation = Place(fmt::format(
        "sqrt(greatest(toFloat64(0), (1 - {0}) * (1 - {0}) * toFloat64({1}[{2}]) + {0} * {0} * "
        "(toFloat64({1}[-1]) - toFloat64({1}[{2}])))) / {3}",
        share, slack, found, all));
    const std::string low =
        at(fmt::format("greatest(toFloat64(0), {} - {} * {})", share, kBoundDeviations, deviation));
    const std::string high = at(fmt::format("({} + {} * {})", share, kBoundDeviations, deviation));
    for (const std::string& place : {found, low, high})
      Output(fmt::format("if(length({0}) = 0, NULL, {0}[{1}])", values, place),
             {place == found ? a.name : "", type});
  }

  const DatasetState& state_;
  std::vector<std::string> sums_, places_{"*"}, outputs_, keys_, order_;
  std::vector<ColumnDefinition> columns_;
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
  DatasetSelectList list(sql.columns);
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

RowSql EstimateSql(const DatasetState& state, const TableNames& names, const DatasetQuery& query) {
  const CountingRows rows = RowsThatCount(state, names);
  return Estimates(state, query).Select(rows.from, WhereSql(state, rows, query), query.limit + 1);
}

Result<DatasetRows> ReadEstimates(const DatasetState& state, const DatasetQuery& query,
                                  const RowSql& sql, std::string_view answer) {
  WF_ASSIGN(const DatasetTable sums, ReadTable(answer, sql.columns));
  DatasetRows out;
  out.estimated = true;
  out.table = EmptyResult(state.definitions(), query, Bounds::kShow);
  for (size_t row = 0; row < sums.rows(); ++row) {
    size_t from = 0, to = 0;
    const auto copy = [&](size_t n) {
      for (; n > 0; --n) CopyCell(sums.columns[from++], row, out.table.columns[to++]);
    };
    copy(query.group_by.size() + (query.bucket_ns ? 1 : 0));
    for (const Aggregate& aggregate : query.aggregates) {
      if (!IsOfSums(aggregate.kind)) {
        copy(aggregate.kind == AggregateKind::kPercentile ? 3 : 1);
        continue;
      }
      ++from;  // what it is ordered by
      WeightedSums one;
      for (double* sum :
           {&one.weight, &one.total, &one.rows, &one.slack, &one.slack_x, &one.slack_xx})
        *sum = sums.columns[from++].doubles[row];
      one.exact_total = sums.columns[from++].numbers[row];
      one.all_whole = one.slack == 0;
      AppendEstimate(aggregate, one, Bounds::kShow, out.table, to);
    }
  }
  OrderAndLimit(query, out);
  return out;
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

}  // namespace wf::store::clickhouse
