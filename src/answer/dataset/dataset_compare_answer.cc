// `dataset compare`: which columns explain the difference between two populations.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/compare/compare.h"
#include "answer/dataset/dataset_answer.h"
#include "answer/frame/text_table.h"
#include "json/json_writer.h"
#include "lang/common/condition.h"
#include "store/row_query.h"

namespace wf::answer {
namespace {

// Rows of a population that are compared: enough that the smallest effect worth a look is significant. Of more, the
// newest are taken, and the answer says so.
constexpr size_t kComparedRows = 200'000;

// What stands for all rows that the other population does not have.
constexpr std::string_view kRest = "rest";

struct Population {
  std::vector<ColumnCondition> where;
  // Rows that fulfil all of these take no part; empty: none are left out.
  std::vector<ColumnCondition> without;
  int64_t rows = 0;  // that match
  DatasetTable table;
};

Result<int64_t> CountRows(const AnswerContext& context, const std::string& dataset,
                          const std::vector<ColumnCondition>& where) {
  DatasetQuery count;
  count.where = where;
  count.aggregates = {{AggregateKind::kCount, "", 0, "count"}};
  WF_ASSIGN(const DatasetRows counted, context.store.QueryRows(context.tenant, dataset, count));
  return counted.table.columns[0].numbers[0];
}

DatasetTable RowsWithout(const DatasetTable& table, const std::vector<ColumnCondition>& without) {
  DatasetTable out;
  for (const TableColumn& column : table.columns) out.columns.push_back({column.definition});
  for (size_t row = 0; row < table.rows(); ++row) {
    if (store::RowMatches(without, table, row)) continue;
    for (size_t i = 0; i < out.columns.size(); ++i)
      store::CopyCell(table.columns[i], row, out.columns[i]);
  }
  return out;
}

Status Read(const AnswerContext& context, const std::string& dataset,
            const std::vector<std::string>& columns, Population& population) {
  WF_ASSIGN(population.rows, CountRows(context, dataset, population.where));
  DatasetQuery rows;
  rows.where = population.where;
  rows.columns = columns;
  rows.limit = kComparedRows;
  // It reads them all; only what was asked for is used.
  rows.counting = DatasetQuery::Counting::kDoNotCount;
  for (const ColumnCondition& condition : population.without) {
    if (std::find(columns.begin(), columns.end(), condition.column) == columns.end() &&
        std::find(rows.columns.begin(), rows.columns.end(), condition.column) == rows.columns.end())
      rows.columns.push_back(condition.column);
  }
  WF_ASSIGN(DatasetRows read, context.store.QueryRows(context.tenant, dataset, rows));
  if (population.without.empty()) {
    population.table = std::move(read.table);
    return {};
  }
  std::vector<ColumnCondition> left_out = population.where;
  left_out.insert(left_out.end(), population.without.begin(), population.without.end());
  WF_ASSIGN(const int64_t without, CountRows(context, dataset, left_out));
  population.rows -= without;
  population.table = RowsWithout(read.table, population.without);
  return {};
}

void WriteDifference(const compare::ColumnDifference& one, JsonWriter& json) {
  json.BeginObject().Field("column", one.column).Key("value");
  one.question == compare::CompareQuestion::kShift ? json.Null() : json.String(one.value);
  json.Key("effect").Double(one.effect);
  json.Key("p").Double(one.p);
  json.Key("q").Double(one.q);
  json.Field("question", compare::CompareQuestionName(one.question));
  json.Key("a").Double(one.a);
  json.Key("b").Double(one.b);
  json.EndObject();
}

std::string CompareText(const Population& a, const Population& b, const compare::Comparison& found,
                        const std::string& metric, size_t shown) {
  std::string out = fmt::format("{} rows in a, {} in b\n", a.rows, b.rows);
  if (!metric.empty())
    out += fmt::format("{}: {:.6g} → {:.6g} (mean), effect {:+.3f}, p {:.2g}\n", metric,
                       found.metric.a, found.metric.b, found.metric.effect, found.metric.p);
  if (shown == 0) return out + "no significant difference\n";
  TextTable table({"column", "value", "what", "a", "b", "effect", "q"}, {3, 4, 5, 6});
  for (size_t i = 0; i < shown; ++i) {
    const compare::ColumnDifference& one = found.differences[i];
    table.Row({Printable(one.column), Printable(one.value),
               std::string(compare::CompareQuestionName(one.question)),
               fmt::format("{:.6g}", one.a), fmt::format("{:.6g}", one.b),
               fmt::format("{:+.3f}", one.effect), fmt::format("{:.2g}", one.q)});
  }
  return out + table.Print(TextWidth(), 1);
}

}  // namespace

Result<Answer> AnswerDatasetCompare(const AnswerContext& context, const Question& question) {
  const std::string& dataset = question.argument;
  const Params& params = question.params;
  const auto show = params.Get("show");
  Population a, b;
  const auto text_a = params.Get("a"), text_b = params.Get("b");
  if (!text_a || !text_b)
    return BadInput("dataset compare: two populations are needed",
                    "give --a CONDITION and --b CONDITION");
  if (*text_a == kRest && *text_b == kRest)
    return BadInput("dataset compare: a and b are both the rest", "give one of them a condition");
  if (*text_a != kRest) {
    WF_ASSIGN(a.where, lang::ParseConditions(*text_a, "--a"));
  }
  if (*text_b != kRest) {
    WF_ASSIGN(b.where, lang::ParseConditions(*text_b, "--b"));
  }
  compare::CompareOptions options;
  for (const auto* where : {&a.where, &b.where}) {
    for (const ColumnCondition& condition : *where) options.excluded.push_back(condition.column);
  }
  std::vector<ColumnCondition> common;
  WF_ASSIGN(const store::TimeRange time, ParseTimeRange(params, context.now));
  if (time.from != INT64_MIN) common.push_back({"time_ns", CompareOp::kGe, false, {time.from}});
  if (time.until != INT64_MAX) common.push_back({"time_ns", CompareOp::kLt, false, {time.until}});
  for (const std::string& text : params.All("where")) {
    WF_ASSIGN(const auto conditions, lang::ParseConditions(text, "--where"));
    common.insert(common.end(), conditions.begin(), conditions.end());
  }
  if (*text_a == kRest) a.without = b.where;
  if (*text_b == kRest) b.without = a.where;
  if ((*text_a == kRest || *text_b == kRest) && a.where.empty() && b.where.empty())
    return BadInput("dataset compare: without a condition there is no rest",
                    "say what one population is chosen by");
  for (auto* where : {&a.where, &b.where})
    where->insert(where->end(), common.begin(), common.end());

  WF_ASSIGN(const auto stored, context.store.ReadDatasets(context.tenant));
  std::vector<ColumnDefinition> columns;
  for (const store::DatasetStatus& one : stored) {
    if (one.name != dataset) continue;
    for (const store::StoredColumn& column : one.columns) columns.push_back(column.definition);
  }
  if (const auto metric = params.Get("metric")) {
    WF_ASSIGN(const auto keys, lang::ParseKeys(*metric, "--metric"));
    if (keys.size() != 1) return BadInput("--metric: one column is compared", "give one");
    options.metric = keys[0];
    if (!columns.empty()) {
      WF_ASSIGN(const ColumnDefinition column, store::FindColumn(columns, options.metric));
      if (column.type != ColumnType::kInt && column.type != ColumnType::kDouble)
        return BadInput(fmt::format("--metric: \"{}\" is {}, not a number", column.name,
                                    ColumnTypeName(column.type)),
                        "choose a column of numbers");
    }
  }
  // Old versions of columns and whole stacks take no part.
  std::vector<std::string> names;
  for (const ColumnDefinition& column : columns) {
    if (column.type != ColumnType::kStack && column.name.find('@') == std::string::npos &&
        column.name != "trace_id" && column.name != "time_ns")
      names.push_back(column.name);
  }
  WF_TRY(Read(context, dataset, names, a));
  WF_TRY(Read(context, dataset, names, b));
  const compare::Comparison found = compare::ComparePopulations(a.table, b.table, options);
  const size_t shown = show == "all" ? found.differences.size() : found.significant;
  if (WantsText(question)) return TextAnswer(CompareText(a, b, found, options.metric, shown));
  JsonWriter json;
  json.BeginObject().Field("n_a", a.rows).Field("n_b", b.rows);
  json.Key("columns").BeginArray();
  for (size_t i = 0; i < shown; ++i) WriteDifference(found.differences[i], json);
  json.EndArray();
  if (!options.metric.empty()) {
    json.Key("metric");
    WriteDifference(found.metric, json);
  }
  json.EndObject();
  return JsonAnswer(json.Take());
}

}  // namespace wf::answer
