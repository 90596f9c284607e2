// The end of an import: what came in is modeled, and every answer sees it.
#pragma once

#include <string>

#include "pipeline/import_job.h"
#include "store/store.h"

namespace wf::pipeline {

class Tailer;

// Models what came in, solves the hosts' clocks anew for its time, and extracts the datasets' rows (when there is a
// tailer): when it returns, the next question sees them.
Result<ImportReport> FinishImport(ImportJob& job, store::ClockStore& store,
                                  const std::string& tenant, Tailer* tailer);

}  // namespace wf::pipeline
