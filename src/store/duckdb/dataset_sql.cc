#include "store/duckdb/dataset_sql.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "base/utf8.h"
#include "store/row_query.h"

namespace wf::store::duckdb {
namespace {

class Writer {
 public:
  explicit Writer(const DatasetFile::View& view) : view_(view) {}
  RowSql sql;

  std::string Where(const std::vector<ColumnCondition>& where) {
    std::string text;
    for (const ColumnCondition& condition : where)
      text += (text.empty() ? " WHERE " : " AND ") + Condition(condition);
    return text;
  }

  std::string Column(const std::string& name) const { return view_.Find(name).stored; }
  ColumnType Type(const std::string& name) const { return view_.Find(name).definition.type; }

  static std::string Bucket(Nanos bucket) {
    return fmt::format(
        "(greatest(time_ns, ({1})::BIGINT) - ((greatest(time_ns, ({1})::BIGINT) % {0} + {0}) % "
        "{0}))",
        bucket, INT64_MIN + bucket);
  }

  std::string AggregateText(const Aggregate& a) const {
    if (a.kind == AggregateKind::kCount && a.column.empty()) return "count(*)";
    const std::string c = Column(a.column);
    const bool real = Type(a.column) == ColumnType::kDouble;
    switch (a.kind) {
      case AggregateKind::kCount:
        return fmt::format("count({})", c);
      case AggregateKind::kSum:
        // Sums of integers are exact beyond 64 bits, and then held at their ends.
        return real ? fmt::format("coalesce(sum({}), 0)", c)
                    : fmt::format(
                          "greatest(least(coalesce(sum({}), 0), 9223372036854775807), "
                          "-9223372036854775808)",
                          c);
      case AggregateKind::kMean:
        return fmt::format("avg({})", c);
      case AggregateKind::kMin:
        return fmt::format("min({})", c);
      case AggregateKind::kMax:
        return fmt::format("max({})", c);
      case AggregateKind::kPercentile:
        return fmt::format("quantile_disc({}, {})", c, a.percentile / 100);
      case AggregateKind::kDistinct:
        return fmt::format("count(DISTINCT {})", c);
    }
    return "count(*)";
  }

  static std::string Cast(const std::string& text, ColumnType type) {
    switch (type) {
      case ColumnType::kBool:
      case ColumnType::kInt:
        return fmt::format("CAST({} AS BIGINT)", text);
      case ColumnType::kDouble:
        return fmt::format("CAST({} AS DOUBLE)", text);
      case ColumnType::kText:
      case ColumnType::kStack:
        return text;
    }
    return text;
  }

 private:
  std::string Value(const ColumnLiteral& value) {
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "1" : "0";
    if (const auto* whole = std::get_if<int64_t>(&value)) {
      sql.params.emplace_back(*whole);
    } else if (const auto* real = std::get_if<double>(&value)) {
      sql.params.emplace_back(*real);
    } else {
      sql.texts.push_back(std::make_unique<std::string>(RepairUtf8(std::get<std::string>(value))));
      sql.params.emplace_back(duck::Utf8{*sql.texts.back()});
    }
    return fmt::format("${}", sql.params.size());
  }

  // Ids are kept as numbers: equality is looked up there, anything else is asked of their text.
  std::string TraceIds(const ColumnCondition& condition) {
    std::string text;
    for (const ColumnLiteral& value : condition.values) {
      const std::string& hex = std::get<std::string>(value);
      const auto id = ParseTraceId(hex);
      if (!id.ok() || ToHex(*id) != hex) continue;  // equals no id
      sql.params.emplace_back(id->hi);
      sql.params.emplace_back(id->lo);
      text += fmt::format("{}(trace_hi = ${} AND trace_lo = ${})", text.empty() ? "" : " OR ",
                          sql.params.size() - 1, sql.params.size());
    }
    return text.empty() ? "FALSE" : "(" + text + ")";
  }

  std::string Condition(const ColumnCondition& condition) {
    const std::string c = Column(condition.column);
    const std::string negation = condition.negated ? "NOT " : "";
    if (condition.op == CompareOp::kExists)
      return fmt::format("{} IS {}NULL", c, condition.negated ? "" : "NOT ");
    if (condition.column == "trace_id" &&
        (condition.op == CompareOp::kEq || condition.op == CompareOp::kIn))
      return negation + TraceIds(condition);
    if (condition.op == CompareOp::kMatches)
      return fmt::format("{}regexp_matches({}, {})", negation, c, Value(condition.values[0]));
    if (condition.op == CompareOp::kIn) {
      std::string list;
      for (const ColumnLiteral& value : condition.values)
        list += (list.empty() ? "" : ", ") + Value(value);
      return fmt::format("{}({} IN ({}))", negation, c, list);
    }
    return fmt::format("{}({} {} {})", negation, c, CompareOpText(condition.op),
                       Value(condition.values[0]));
  }

  const DatasetFile::View& view_;
};

const char* DirectionSql(SortDirection direction) {
  return direction == SortDirection::kDescending ? " DESC NULLS LAST" : " ASC NULLS LAST";
}

size_t PlaceOf(const std::vector<ColumnDefinition>& columns, const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnDefinition& c) { return c.name == name; });
  return static_cast<size_t>(found - columns.begin());
}

RowSql GroupedSql(const DatasetFile::View& view, const DatasetQuery& query) {
  Writer writer(view);
  RowSql& sql = writer.sql;
  sql.columns = ResultColumns(view.definitions(), query);
  std::string inner, groups, outer, order;
  size_t n = 0;
  const auto add = [&](const std::string& text, bool is_group) {
    inner += fmt::format("{}{} AS o{}", n == 0 ? "" : ", ", text, n);
    if (is_group) groups += fmt::format("{}o{}", groups.empty() ? " GROUP BY " : ", ", n);
    outer += fmt::format("{}{}", n == 0 ? "" : ", ",
                         Writer::Cast(fmt::format("o{}", n), sql.columns[n].type));
    ++n;
  };
  if (query.bucket_ns) add(Writer::Bucket(*query.bucket_ns), true);
  for (const std::string& name : query.group_by) add(writer.Column(name), true);
  for (const Aggregate& aggregate : query.aggregates) add(writer.AggregateText(aggregate), false);
  for (const RowOrder& by : query.order)
    order += fmt::format("{}o{}{}", order.empty() ? " ORDER BY " : ", ",
                         PlaceOf(sql.columns, by.column), DirectionSql(by.direction));
  for (size_t i = 0; i < n; ++i)
    order += fmt::format("{}o{} ASC NULLS LAST", order.empty() ? " ORDER BY " : ", ", i);
  const std::string where = writer.Where(query.where);
  sql.text = fmt::format("SELECT {} FROM (SELECT {} FROM {}{}{}) grouped{} LIMIT {}", outer, inner,
                         view.table, where, groups, order, query.limit + 1);
  return std::move(writer.sql);
}

RowSql PlainSql(const DatasetFile::View& view, const DatasetQuery& query) {
  Writer writer(view);
  RowSql& sql = writer.sql;
  sql.columns = ResultColumns(view.definitions(), query);
  std::string select, order;
  for (const ColumnDefinition& column : sql.columns)
    select += (select.empty() ? "" : ", ") + Writer::Cast(writer.Column(column.name), column.type);
  for (const RowOrder& by : query.order)
    order += writer.Column(by.column) + DirectionSql(by.direction) + ", ";
  const std::string where = writer.Where(query.where);
  sql.text = fmt::format(
      "SELECT {} FROM {}{} ORDER BY {}time_ns DESC, trace_hi, trace_lo, row_key LIMIT {}", select,
      view.table, where, order, query.limit + 1);
  return std::move(writer.sql);
}

}  // namespace

RowSql QuerySql(const DatasetFile::View& view, const DatasetQuery& query) {
  return query.grouped() ? GroupedSql(view, query) : PlainSql(view, query);
}

RowSql WeightedRowsSql(const DatasetFile::View& view, const DatasetQuery& query) {
  Writer writer(view);
  RowSql& sql = writer.sql;
  std::string select;
  for (const std::string& name : ColumnsUsed(query)) {
    sql.columns.push_back({name, writer.Type(name)});
    select += Writer::Cast(writer.Column(name), writer.Type(name)) + ", ";
  }
  sql.columns.push_back({"weight", ColumnType::kInt});
  const std::string where = writer.Where(query.where);
  sql.text = fmt::format("SELECT {}weight FROM {}{}", select, view.table, where);
  return std::move(writer.sql);
}

DatasetTable EmptyTable(const std::vector<ColumnDefinition>& columns) {
  DatasetTable table;
  for (const ColumnDefinition& column : columns) table.columns.emplace_back().definition = column;
  return table;
}

void AppendChunk(const duck::Chunk& chunk, DatasetTable& table) {
  const size_t n = chunk.size();
  for (size_t c = 0; c < table.columns.size(); ++c) {
    TableColumn& to = table.columns[c];
    for (size_t i = 0; i < n; ++i) {
      if (chunk.IsNull(c, i)) {
        to.AppendNull();
        continue;
      }
      switch (to.definition.type) {
        case ColumnType::kBool:
        case ColumnType::kInt:
          to.AppendInt(chunk.Column<int64_t>(c)[i]);
          break;
        case ColumnType::kDouble:
          to.AppendDouble(chunk.Column<double>(c)[i]);
          break;
        case ColumnType::kText:
        case ColumnType::kStack:
          to.AppendText(std::string(chunk.Text(c, i)));
          break;
      }
    }
  }
}

}  // namespace wf::store::duckdb
