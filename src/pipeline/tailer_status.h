// The tailer's report about itself, for `status` and /metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "json/json_writer.h"
#include "pipeline/delay_reason.h"
#include "pipeline/fair_queues.h"

namespace wf::pipeline {

struct StageStatus {
  std::string name;  // fetch, build, extract, write, delayed
  size_t waiting = 0;
  int64_t items = 0;
  Nanos cpu_ns = 0;
  Nanos lag_p50_ns = 0, lag_p99_ns = 0;
};

struct TailerStatus {
  bool on = false;
  int64_t events = 0;             // fetched
  int64_t traces_due = 0;         // timeouts that ended
  int64_t traces_from_cache = 0;  // processed from cached events
  int64_t traces_delayed_done = 0;
  int64_t traces_again = 0;  // processed again because of late events
  int64_t traces_unusable = 0;
  DelayCounts delayed;       // arrivals in the delayed queue, jobs included
  int64_t before_start = 0;  // among traces with events gone: those that began before the tailer
  int64_t evicted = 0, expired = 0;
  int64_t events_uncached = 0;  // of traces that had left the cache, or were never complete in it
  int64_t scheduled = 0, rescheduled_late = 0;  // timeouts begun; those for a late event
  size_t timeouts_running = 0;
  size_t cached_traces = 0, cached_bytes = 0;
  size_t delayed_queue = 0;
  Nanos delayed_oldest_ns = 0;  // age of the oldest
  int64_t rows = 0, writes = 0, write_failures = 0;
  int64_t features_over_budget = 0, feature_rows_dropped = 0;
  size_t blacklisted_traces = 0;
  int64_t blacklisted_events = 0;
  int64_t ids_forgotten_early = 0, fetch_overflows = 0;
  std::vector<StageStatus> stages;
  std::vector<OwnerLoad> owners;

  // Share of the traces due, and of the traces processed; 1 and 0 if there were none.
  double cache_share() const;
  double again_share() const;
};

void WriteTailerJson(const TailerStatus& status, JsonWriter& json);
std::string TailerText(const TailerStatus& status);
// tailer_… for /metrics, one number per name.
std::map<std::string, int64_t> TailerCounters(const TailerStatus& status);

}  // namespace wf::pipeline
