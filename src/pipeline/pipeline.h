// Tailer: turns stored events into rows of datasets, in near-real time, without slowing down receiving or
// other owners (Canopy §4.2, figure 7): fetch → trigger → build → extract → shed. pipeline.cc reads in that
// order.
//
// Events arrive when they are durable (Take), are cached by trace, and a trace is built when a trigger's
// timeout is over. Each owner's datasets are extracted from the owner's short queue, by fair shares of CPU
// time; rows are collected and written. Traces that cannot be processed in time go to a persistent queue and
// are processed later from the store. kill -9 loses nothing: the watermark says from which time of receipt on
// events must be checked again.
//
// Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/blacklist.h"
#include "pipeline/built_trace.h"
#include "pipeline/delayed_queue.h"
#include "pipeline/fair_queues.h"
#include "pipeline/progress_ledger.h"
#include "pipeline/recent_clocks.h"
#include "pipeline/row_writer.h"
#include "pipeline/stage_meter.h"
#include "pipeline/tailed_dataset.h"
#include "pipeline/tailer_status.h"
#include "pipeline/trace_cache.h"
#include "pipeline/traces_in_progress.h"
#include "store/store.h"

namespace wf::pipeline {

struct TailerOptions {
  CacheOptions cache;
  size_t isolation_queue = 256;  // max traces waiting per owner
  double owner_rate = 0;         // max traces per second extracted per owner; 0: no limit
  int builders = 1, extractors = 1;
  size_t inbox_bytes = 64u << 20;  // max bytes of batches waiting to be fetched
  // kNone: no threads; Step does the work (the command line, and tests with a clock of their own).
  enum class Threads : uint8_t { kOwn, kNone } threads = Threads::kOwn;
  std::function<Nanos()> clock = MonotonicNow;
  // Where progress is recorded: by the tailer, by time of receipt, in its folder; or by the caller, through
  // the holds it passes.
  enum class Progress : uint8_t { kOwn, kCallers } progress = Progress::kOwn;
};

class Tailer {
 public:
  // Borrowed for the tailer's life. `folder`: of the delayed queue; created if missing.
  struct Surroundings {
    store::Store& store;
    DatasetSource& datasets;
    RowSink& rows;
    std::string folder;
    DelayedQueue* delayed = nullptr;  // null: a log in the folder
  };
  static Result<std::unique_ptr<Tailer>> Start(const Surroundings& surroundings,
                                               TailerOptions options);
  ~Tailer();    // stops
  void Stop();  // writes extracted rows; the next start finds what was still waiting
  // Stops, and writes nothing once it has returned: another tailer has the traces now.
  void Abandon();

  // Accepts a batch that has become durable. Fast, because the store's log thread calls it.
  void Take(const std::shared_ptr<const EventBatch>& durable);
  // The same for a caller that keeps the hold of the batch, and limits how many wait (waiting_bytes).
  void Take(const std::shared_ptr<const EventBatch>& durable, ProgressLedger::Hold hold,
            TracePast past);
  size_t waiting_bytes() const;  // of batches accepted but not yet fetched
  // Removes rows of blacklisted traces before they are stored; returns how many there were.
  int64_t DropRefused(EventBatch& batch) { return blacklist_->Filter(batch); }
  // The same for import, which does its own counting. Borrowed from the tailer.
  TraceLimits Limits() { return {blacklist_.get(), options_.cache.max_events_per_trace}; }

  // Processes these traces at once, from the store: their rows can be queried when this returns. `dataset`:
  // only this one (for ad-hoc jobs over old traces); empty: all.
  Status ProcessNow(const std::string& tenant, const std::vector<TraceId>& ids,
                    const std::string& dataset = {});

  // For the time in which other code writes rows of stored traces (a backfill): every trace that is cached
  // before the result is released may have rows, and gets them replaced.
  std::shared_ptr<void> ExpectEarlierRows();

  TailerStatus ReadStatus() const;  // tailer_report.cc

  // Runs one round of every stage; false if there was nothing to do. For Threads::kNone.
  bool Step();

 private:
  struct Fetched {
    std::shared_ptr<const EventBatch> batch;
    ProgressLedger::Hold hold;
    Nanos arrived = 0;
    size_t bytes = 0;
    TracePast past = TracePast::kPassedHere;
  };
  // A period of receipt whose events the cache did not see.
  struct Unseen {
    Nanos from = 0, until = 0;
    DelayReason job = DelayReason::kRecovered;
    ProgressLedger::Hold hold;
  };
  struct Selection {  // which datasets; empty: all
    std::string owner, dataset;
    bool Includes(const TailedDataset& d) const {
      return (owner.empty() || d.owner == owner) && (dataset.empty() || d.name == dataset);
    }
  };
  using QueuedTrace = std::shared_ptr<const BuiltTrace>;

  Tailer(const Surroundings& surroundings, TailerOptions options, Nanos started);
  Nanos clock() const { return options_.clock(); }

  // The stages, in order. Each does a bounded piece of work and returns whether there was any.
  bool Fetch();
  void Trigger();
  bool Build();
  bool Extract(Nanos patience);
  bool Write();
  bool ExtractDelayed();

  void Delay(const TraceKey& key, const std::string& owner, DelayReason reason,
             const ProgressLedger::Hold& hold);
  std::vector<std::shared_ptr<BuiltTrace>> BuildGroup(std::vector<TraceRows> rows, Nanos now);
  void Enqueue(const QueuedTrace& trace, const TailedDatasets& datasets);
  void ExtractInto(const BuiltTrace& trace, const TailedDatasets& datasets,
                   const Selection& selection);
  // Reads, builds and extracts stored traces that the caller has claimed.
  Status ProcessStored(const std::string& tenant,
                       const std::vector<TracesInProgress::Claim>& claims,
                       const Selection& selection, const ProgressLedger::Hold& hold);

  // tailer_recovery.cc: what survives the process.
  Status Recover();
  bool LookThroughUnseen();
  void SaveProgress(Nanos wall_now);

  // tailer_threads.cc
  void StartThreads();
  void EndThreads();
  void RunFetcher();
  void RunBuilder();
  void RunExtractor();
  void RunWriter();
  void RunDelayed();
  bool Wait(Nanos time);  // false when stopping
  bool Stopping() const {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  const TailerOptions options_;
  store::Store& store_;
  DatasetSource& datasets_;
  const std::string folder_;
  const Nanos started_;  // wall clock

  ProgressLedger ledger_;
  TracesInProgress in_progress_;
  TraceCache cache_;
  RecentClocks clocks_;
  FairQueues<QueuedTrace> queues_;
  std::unique_ptr<Blacklist> blacklist_;
  std::unique_ptr<DelayedQueue> own_delayed_;
  DelayedQueue* delayed_;
  RowWriter writer_;

  mutable std::mutex mutex_;  // guards from here to the next blank line
  std::condition_variable wake_fetcher_, wake_builder_, wake_all_;
  std::deque<Fetched> inbox_;
  size_t inbox_bytes_ = 0;
  std::deque<DueTrace> due_;
  std::vector<Unseen> unseen_;
  Nanos overflow_from_ = 0;  // receipt of the first batch that did not fit; 0: all fitted
  ProgressLedger::Hold overflow_hold_;
  bool stopping_ = false;

  std::mutex fetching_;                // one at a time, so that a batch is either waiting or cached
  std::atomic<bool> distrust_{false};  // batches were skipped, so cached traces may lack events
  Nanos saved_watermark_ = 0;          // used by the writer's thread only, like the next
  int64_t saved_events_ = 0;

  std::atomic<int> backfills_{0};                   // number of running backfills
  std::atomic<Nanos> backfilled_until_{INT64_MIN};  // by clock(); INT64_MAX while one runs

  StageMeter fetch_, build_, extract_, write_, delay_;
  std::atomic<int64_t> from_cache_{0}, delayed_done_{0}, again_{0}, unusable_{0}, overflows_{0};
  std::vector<std::thread> threads_;
  std::atomic<bool> stopped_{false};
};

}  // namespace wf::pipeline
