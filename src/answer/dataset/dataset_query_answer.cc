// `dataset query` and `dataset sql`: rows of a dataset, filtered, grouped and aggregated.
#include <fmt/format.h>

#include "answer/dataset/dataset_answer.h"
#include "answer/dataset/dataset_rows_output.h"
#include "lang/common/condition.h"
#include "pipeline/dataset_catalog.h"

namespace wf::answer {
namespace {

// The flags' words as a query.
Result<DatasetQuery> ParseQuery(const Params& params, Nanos now) {
  DatasetQuery query;
  WF_ASSIGN(const store::TimeRange time, ParseTimeRange(params, now));
  if (time.from != INT64_MIN)
    query.where.push_back({"time_ns", CompareOp::kGe, false, {time.from}});
  if (time.until != INT64_MAX)
    query.where.push_back({"time_ns", CompareOp::kLt, false, {time.until}});
  for (const std::string& text : params.All("where")) {
    WF_ASSIGN(const auto conditions, lang::ParseConditions(text, "--where"));
    query.where.insert(query.where.end(), conditions.begin(), conditions.end());
  }
  for (const std::string& text : params.All("group_by")) {
    WF_ASSIGN(const auto keys, lang::ParseKeys(text, "--group-by"));
    query.group_by.insert(query.group_by.end(), keys.begin(), keys.end());
  }
  for (const std::string& text : params.All("columns")) {
    WF_ASSIGN(const auto keys, lang::ParseKeys(text, "--columns"));
    query.columns.insert(query.columns.end(), keys.begin(), keys.end());
  }
  for (const std::string& text : params.All("agg")) {
    WF_ASSIGN(const auto aggregates, lang::ParseAggregates(text, "--agg"));
    query.aggregates.insert(query.aggregates.end(), aggregates.begin(), aggregates.end());
  }
  for (const std::string& text : params.All("order")) {
    WF_ASSIGN(const RowOrder order, lang::ParseOrder(text, "--order"));
    query.order.push_back(order);
  }
  WF_ASSIGN(query.bucket_ns, params.Duration("bucket"));
  WF_ASSIGN(const auto limit, params.Integer("limit"));
  if (limit) query.limit = static_cast<size_t>(*limit);
  if (query.grouped() && !query.columns.empty())
    return BadInput("--columns: groups have only keys and aggregates", "use --group-by and --agg");
  if (query.grouped() && query.aggregates.empty())
    query.aggregates.push_back({AggregateKind::kCount, "", 0, "count"});
  // The most of something first, as long as it is not a series over time.
  if (query.order.empty() && !query.group_by.empty() && !query.bucket_ns)
    query.order.push_back({query.aggregates[0].name, SortDirection::kDescending});
  return query;
}

}  // namespace

Result<Answer> AnswerDatasetQuery(const AnswerContext& context, const Question& question) {
  const std::string& dataset = question.argument;
  WF_ASSIGN(const DatasetQuery query, ParseQuery(question.params, context.now));
  auto rows = context.store.QueryRows(context.tenant, dataset, query);
  if (!rows.ok() && rows.error().code == ErrorCode::kNotFound) {
    // Defined but not filled yet, or not there at all: each has its own next step.
    WF_ASSIGN(const pipeline::DatasetCatalog catalog,
              pipeline::DatasetCatalog::Load(context.store, context.tenant));
    WF_TRY(catalog.Get(dataset));
    return NotFound(
        fmt::format("dataset {}: no rows yet", dataset),
        fmt::format("wherefore dataset backfill {} fills it from stored traces", dataset));
  }
  if (!rows.ok()) return rows.error();
  return RowsAnswer(question, *rows, "");
}

Result<Answer> AnswerDatasetSql(const AnswerContext& context, const Question& question) {
  const std::string sql =
      question.body.empty() ? question.params.Get("sql").value_or("") : question.body;
  if (sql.empty()) return BadInput("dataset sql: no statement given", "give one SELECT");
  WF_ASSIGN(const store::SqlRows answer, context.store.RunSql(context.tenant, sql));
  return RowsAnswer(question, answer.rows, answer.dialect);
}

}  // namespace wf::answer
