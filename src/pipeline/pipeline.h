// Tailer: turns stored events into rows of datasets, in near-real time and without getting in anyone's way (Canopy §4.2,
// figure 7): fetch → trigger → build → extract → shed. pipeline.cc reads in that order.
//
// Events come when they are durable (Take), are cached by trace, and built when a trigger's timeout is over; each
// owner's datasets are extracted from a short queue of his own, by fair shares of CPU time; rows are gathered and
// written. What cannot be done in time goes to a persistent queue and is done later from the store. Nothing is lost by
// kill -9: the watermark tells from which receipt on events must be looked through again.
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
  size_t isolation_queue = 256;  // traces an owner may have waiting
  double owner_rate = 0;         // traces a second extracted for an owner; 0: as many as can be
  int builders = 1, extractors = 1;
  size_t inbox_bytes = 64u << 20;  // of batches that wait to be fetched
  // kNone: no threads; Step does the work (the command line, and tests with a clock of their own).
  enum class Threads : uint8_t { kOwn, kNone } threads = Threads::kOwn;
  std::function<Nanos()> clock = MonotonicNow;
  // Who keeps down what is processed: the tailer, by receipt, in its folder; or the caller, by the holds he gives.
  enum class Progress : uint8_t { kOwn, kCallers } progress = Progress::kOwn;
};

class Tailer {
 public:
  // Borrowed for the tailer's life. `folder`: where the delayed queue lies; made when missing.
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
  void Stop();  // writes what was extracted; what waits is found again by the next start
  // Stops, and writes nothing from when it returns on: the traces are another's now.
  void Abandon();

  // A batch that has become durable. Quick: called by the store's log thread.
  void Take(const std::shared_ptr<const EventBatch>& durable);
  // The same of a batch whose hold the caller keeps, and who sees to it that not too many wait (waiting_bytes).
  void Take(const std::shared_ptr<const EventBatch>& durable, ProgressLedger::Hold hold,
            TracePast past);
  size_t waiting_bytes() const;  // of batches taken and not yet fetched
  // Removes rows of traces that are refused, before they are stored; how many there were.
  int64_t DropRefused(EventBatch& batch) { return blacklist_->Filter(batch); }
  // The same for import, which counts itself. Borrowed from the tailer.
  TraceLimits Limits() { return {blacklist_.get(), options_.cache.max_events_per_trace}; }

  // Processes these traces at once, from the store: their rows can be queried when it returns. `dataset`: only this one
  // (for ad-hoc jobs over old traces); empty: all.
  Status ProcessNow(const std::string& tenant, const std::vector<TraceId>& ids,
                    const std::string& dataset = {});

  // While somebody else writes rows of stored traces (a backfill): every trace that is cached by the time the result is
  // let go may have rows, and has them replaced.
  std::shared_ptr<void> ExpectEarlierRows();

  TailerStatus ReadStatus() const;  // tailer_report.cc

  // One round of every stage; false when there was nothing to do. For Threads::kNone.
  bool Step();

 private:
  struct Fetched {
    std::shared_ptr<const EventBatch> batch;
    ProgressLedger::Hold hold;
    Nanos arrived = 0;
    size_t bytes = 0;
    TracePast past = TracePast::kPassedHere;
  };
  // A span of receipt in which events were not seen by the cache.
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

  // The stages, in order. Each does a bounded piece of work and says whether there was any.
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
  // Reads, builds and extracts stored traces whose claims the caller has.
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
  Nanos overflow_from_ = 0;  // receipt of the first batch that did not fit; 0: all did
  ProgressLedger::Hold overflow_hold_;
  bool stopping_ = false;

  std::mutex fetching_;                // one at a time, so that a batch is either waiting or cached
  std::atomic<bool> distrust_{false};  // batches were passed over: what is cached may lack events
  Nanos saved_watermark_ = 0;          // the writer's thread's own, as the next
  int64_t saved_events_ = 0;

  std::atomic<int> backfills_{0};                   // running
  std::atomic<Nanos> backfilled_until_{INT64_MIN};  // by clock(); INT64_MAX while one runs

  StageMeter fetch_, build_, extract_, write_, delay_;
  std::atomic<int64_t> from_cache_{0}, delayed_done_{0}, again_{0}, unusable_{0}, overflows_{0};
  std::vector<std::thread> threads_;
  std::atomic<bool> stopped_{false};
};

}  // namespace wf::pipeline
