// What the tailer says of itself, gathered from its stages.
#include <algorithm>

#include "pipeline/pipeline.h"

namespace wf::pipeline {

TailerStatus Tailer::ReadStatus() const {
  TailerStatus s;
  s.on = true;
  const CacheCounts cache = cache_.Counts();
  s.events = cache.events;
  s.traces_due = cache.due;
  s.evicted = cache.evicted;
  s.expired = cache.expired;
  s.events_uncached = cache.events_uncached;
  s.scheduled = cache.scheduled;
  s.rescheduled_late = cache.rescheduled_late;
  s.timeouts_running = cache.waiting;
  s.cached_traces = cache.traces;
  s.cached_bytes = cache.bytes;
  s.before_start = cache.before_start;
  s.ids_forgotten_early = cache.ids_forgotten_early;
  s.traces_from_cache = from_cache_;
  s.traces_delayed_done = delayed_done_;
  s.traces_again = again_;
  s.traces_unusable = unusable_;
  s.fetch_overflows = overflows_;
  s.delayed = delayed_->pushed();
  s.delayed_queue = delayed_->size();
  if (const Nanos oldest = delayed_->oldest_ns(); oldest != 0)
    s.delayed_oldest_ns = std::max<Nanos>(0, Now() - oldest);
  const WriterCounts writer = writer_.Counts();
  s.rows = writer.rows;
  s.writes = writer.writes;
  s.write_failures = writer.failures;
  const DatasetSource::Losses losses = datasets_.ReadLosses();
  s.features_over_budget = losses.over_budget;
  s.feature_rows_dropped = losses.rows_dropped;
  s.blacklisted_traces = blacklist_->size();
  s.blacklisted_events = blacklist_->dropped();
  s.owners = queues_.Loads();
  size_t inbox, due;
  {
    const std::lock_guard lock(mutex_);
    inbox = inbox_.size();
    due = due_.size();
  }
  const auto stage = [&](const char* name, const StageMeter& meter, size_t waiting) {
    s.stages.push_back({name, waiting, meter.items(), meter.cpu(), meter.LagPercentile(0.5),
                        meter.LagPercentile(0.99)});
  };
  stage("fetch", fetch_, inbox);
  stage("build", build_, due);
  stage("extract", extract_, queues_.size());
  stage("write", write_, writer.gathered);
  stage("delayed", delay_, s.delayed_queue);
  return s;
}

}  // namespace wf::pipeline
