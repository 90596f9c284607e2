#include "answer/import_answer.h"

#include "answer/clock_answer.h"

namespace wf {

Result<ImportReport> FinishImport(ImportJob& job, Store& store, const std::string& tenant) {
  WF_ASSIGN(const ImportReport report, job.Finish());
  if (report.time.from < report.time.until) WF_TRY(RefreshClocks(store, tenant, report.time));
  return report;
}

Result<Answer> AnswerImport(const AnswerContext& context, const Params& params,
                            std::string_view content) {
  WF_TRY(params.Check({"name"}));
  ImportJob job(context.store, context.tenant, context.decode);
  WF_TRY(job.AddContent(params.Get("name").value_or("upload"), content));
  WF_ASSIGN(const ImportReport report, FinishImport(job, context.store, context.tenant));
  return Answer{"application/json", ImportReportJson(report)};
}

}  // namespace wf
