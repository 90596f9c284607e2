#include "answer/import_answer.h"

#include <algorithm>

#include "answer/clock_answer.h"

namespace wf {

Result<ImportReport> FinishImport(ImportJob& job, Store& store, const std::string& tenant) {
  WF_ASSIGN(const ImportReport report, job.Finish());
  if (report.time.from < report.time.until) WF_TRY(RefreshClocks(store, tenant, report.time));
  return report;
}

namespace {

Result<std::vector<TraceId>> ParseIdLines(std::string_view text) {
  std::vector<TraceId> ids;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    WF_ASSIGN(const TraceId id, ParseTraceId(text.substr(0, end)));
    ids.push_back(id);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

}  // namespace

Result<Answer> AnswerImport(const AnswerContext& context, const Params& params,
                            std::string_view content) {
  WF_TRY(params.Check({"name", "model"}));
  WF_ASSIGN(const std::optional<std::string> model,
            params.Choice("model", {"now", "later", "only"}));
  ImportJob job(context.store, context.tenant, context.decode);
  if (model == "only") {
    WF_ASSIGN(const auto ids, ParseIdLines(content));
    job.AddTraces(ids);
  } else {
    WF_TRY(job.AddContent(params.Get("name").value_or("upload"), content));
  }
  if (model == "later") {
    WF_ASSIGN(const ImportReport report, job.Finish(ImportJob::Modeling::kLater));
    if (report.time.from < report.time.until)
      WF_TRY(RefreshClocks(context.store, context.tenant, report.time));
    return Answer{"application/json", ImportReportJson(report)};
  }
  WF_ASSIGN(const ImportReport report, FinishImport(job, context.store, context.tenant));
  return Answer{"application/json", ImportReportJson(report)};
}

}  // namespace wf
