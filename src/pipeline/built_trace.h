// BuiltTrace: a modeled trace on its way from builder to extractors, with everything it borrows.
#pragma once

#include <memory>
#include <vector>

#include "model/trace_builder.h"
#include "pipeline/dataset_extractor.h"
#include "pipeline/progress_ledger.h"
#include "pipeline/trace_cache.h"
#include "pipeline/traces_in_progress.h"

namespace wf::pipeline {

// Immutable once built; shared by the owners' queues.
struct BuiltTrace {
  TraceKey key;
  std::shared_ptr<const EventBatch> events;  // `trace` borrows it
  Trace trace;
  EarlierRows earlier = EarlierRows::kReplace;  // kNone: there are none, so none are looked for
  ProgressLedger::Hold hold;
  TracesInProgress::Claim claim;
  Nanos built = 0;  // by the tailer's clock
};

// The events of one trace, as BuildTrace expects them.
struct TraceRows {
  std::shared_ptr<const EventBatch> events;
  std::vector<uint32_t> rows;
};

// Brings each trace's rows into one batch. If they are in one batch already it is shared; else the rows of
// the whole group are copied into one new batch, so that names are translated once per source batch and not
// once per trace.
std::vector<TraceRows> GatherRows(const std::vector<CachedTrace>& traces);

// The rows of each trace of a batch that is grouped by trace, as stores return it.
std::vector<TraceRows> SplitByTrace(const std::shared_ptr<const EventBatch>& events);

}  // namespace wf::pipeline
