#include "pipeline/finish_import.h"

#include "pipeline/clock_refresh.h"
#include "pipeline/pipeline.h"

namespace wf::pipeline {

Result<ImportReport> FinishImport(ImportJob& job, store::ClockStore& store,
                                  const std::string& tenant, Tailer* tailer) {
  WF_ASSIGN(const ImportReport report, job.Finish());
  if (report.time.from < report.time.until) WF_TRY(RefreshClocks(store, tenant, report.time));
  if (tailer != nullptr)
    WF_TRY(tailer->ProcessNow(tenant, {job.traces().begin(), job.traces().end()}));
  return report;
}

}  // namespace wf::pipeline
