// `query --stored` and GET /api/v1/query: a query over stored traces, or (explain=true) what it would do anywhere.
#include "answer/query/query_answer.h"

#include "answer/dataset/dataset_answer.h"
#include "answer/query/stored_query.h"
#include "lang/query/explain.h"
#include "lang/query/parser.h"

namespace wf::answer {

Result<Answer> AnswerQuery(const AnswerContext& context, const Question& question) {
  const Params& params = question.params;
  const std::string text = question.body.empty() ? params.Get("q").value_or("") : question.body;
  if (text.empty())
    return BadInput("query: no query given",
                    "q=From x In TRACEPOINT Select COUNT; docs/reference/query-language.md "
                    "describes the language");
  WF_ASSIGN(const auto query, query::ParseQuery(text));
  WF_ASSIGN(const bool explain, params.Switch("explain"));
  if (explain) {
    WF_ASSIGN(const query::Explanation explanation, query::Explain(*query));
    return WantsText(question) ? TextAnswer(query::ExplanationText(explanation))
                               : JsonAnswer(query::ExplanationJson(explanation));
  }
  WF_ASSIGN(const store::TimeRange from, ParseTimeRange(params, context.now));
  WF_ASSIGN(const QueryRows rows, RunStoredQuery(context.store, context.tenant, *query, from));
  return WantsText(question) ? TextAnswer(QueryRowsText(rows)) : JsonAnswer(QueryRowsJson(rows));
}

}  // namespace wf::answer
