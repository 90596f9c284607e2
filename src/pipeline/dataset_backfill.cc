#include "pipeline/dataset_backfill.h"

#include <algorithm>

#include "model/trace_builder.h"
#include "pipeline/clock_refresh.h"

namespace wf::pipeline {
namespace {

constexpr size_t kRowsAtOnce = 50'000;  // that wait for one transaction
constexpr size_t kTracesAtOnce = 100;   // of a trial

// Calls `visit` with each trace of the events, built with the clocks that apply.
template <typename Visit>
Status ForEachTrace(store::Store& store, const std::string& tenant, const EventBatch& events,
                    const Visit& visit) {
  WF_ASSIGN(const HostClocks clocks, ClocksFor(store, tenant, events));
  BuildOptions options;
  options.clocks = &clocks;
  for (size_t begin = 0; begin < events.size();) {
    std::vector<uint32_t> rows;
    size_t end = begin;
    for (; end < events.size() && events.trace_id(end) == events.trace_id(begin); ++end)
      rows.push_back(static_cast<uint32_t>(end));
    WF_TRY(visit(BuildTrace(events, std::move(rows), options)));
    begin = end;
  }
  return {};
}

std::vector<TraceId> IdsOf(const EventBatch& events) {
  std::vector<TraceId> ids;
  for (size_t row = 0; row < events.size(); ++row) ids.push_back(events.trace_id(row));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool Within(store::TimeRange time, Nanos t) { return time.from <= t && t < time.until; }

// By the recorded clocks, which is how the range was asked for; aligned ones may lie elsewhere.
Nanos RecordedStart(const Trace& trace) {
  Nanos start = INT64_MAX;
  for (const Block& block : trace.blocks) start = std::min(start, block.raw_start_ns);
  return trace.blocks.empty() ? trace.start_ns : start;
}

}  // namespace

Status BackfillDataset(store::Store& store, const std::string& tenant, store::TimeRange time,
                       DatasetExtractor& extractor, const BackfillProgress& progress) {
  const bool everything = time.from == INT64_MIN && time.until == INT64_MAX;
  store::ScanOptions scan;
  scan.time = time;
  Status failed;
  const auto take = [&](const EventBatch& events) {
    return ForEachTrace(store, tenant, events, [&](const Trace& trace) -> Status {
      if (!everything && !Within(time, RecordedStart(trace))) return {};
      extractor.Add(trace, EarlierRows::kReplace);
      if (extractor.waiting_rows() >= kRowsAtOnce) WF_TRY(extractor.Write(store, tenant));
      return {};
    });
  };
  bool stopped = false;
  WF_TRY(store.Scan(tenant, scan, [&](EventBatch events) {
    if (!everything) {
      // The scan gives events of the range; a trace that reaches beyond is read whole.
      auto whole = store.ReadTraces(tenant, IdsOf(events));
      failed = whole.ok() ? take(*whole) : whole.error();
    } else {
      failed = take(events);
    }
    if (failed.ok() && !progress(extractor.counts().traces)) stopped = true;
    return failed.ok() && !stopped;
  }));
  WF_TRY(failed);
  WF_TRY(extractor.Write(store, tenant));
  if (stopped)
    return EnvironmentError("backfill: stopped; the traces so far are in the dataset",
                            "run it again: rows are replaced, not duplicated");
  return {};
}

Status TryDataset(store::Store& store, const std::string& tenant, DatasetExtractor& extractor) {
  store::TraceQuery query;
  query.limit = kTracesAtOnce;
  size_t looked_at = 0;
  while (static_cast<size_t>(extractor.counts().matched) < kTrialTraces &&
         looked_at < kTrialLookedAt) {
    WF_ASSIGN(const store::SearchPage page, store.Search(tenant, query));
    if (page.traces.empty()) break;
    std::vector<TraceId> ids;
    for (const store::TraceSummary& trace : page.traces) ids.push_back(trace.trace_id);
    looked_at += ids.size();
    WF_ASSIGN(const EventBatch events, store.ReadTraces(tenant, ids));
    WF_TRY(ForEachTrace(store, tenant, events, [&](const Trace& trace) -> Status {
      if (static_cast<size_t>(extractor.counts().matched) < kTrialTraces)
        extractor.Add(trace, EarlierRows::kNone);
      return {};
    }));
    if (!page.next) break;
    query.cursor = page.next;
  }
  return {};
}

}  // namespace wf::pipeline
