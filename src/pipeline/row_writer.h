// RowWriter: rows of many traces on their way into datasets. They are collected per dataset and written
// together, because a write is a transaction with a sync. A trace is in one collection at most once, so that
// replacing its earlier rows never affects rows of the same write.
//
// Bounded: when a dataset has too many collected rows, Add writes before it returns. This slows the
// extractors, fills the isolation queues, and so sends traces to the delayed queue.
//
// Thread safety: all calls, from any thread; each trace in progress has one claim (traces_in_progress.h), so
// the rows of one trace arrive in the order in which they were built.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "pipeline/built_trace.h"
#include "pipeline/tailed_dataset.h"

namespace wf::pipeline {

struct WriterCounts {
  int64_t rows = 0, writes = 0, failures = 0;
  size_t gathered = 0;  // rows not yet written
};

class RowWriter {
 public:
  // Called when a write failed: these traces have lost their rows of the dataset, and the caller must process
  // them again.
  using OnFailure = std::function<void(
      const std::string& tenant, const std::string& dataset, const std::vector<TraceId>& traces,
      const std::vector<ProgressLedger::Hold>& holds, const Error& error)>;
  RowWriter(RowSink& sink, OnFailure on_failure)
      : sink_(sink), on_failure_(std::move(on_failure)) {}

  // Accepts the rows of `trace` in the dataset, possibly none.
  void Add(const std::string& dataset, const BuiltTrace& trace, DatasetTable rows, Nanos now);

  // Writes rows that were collected at least `age` ago; true if there were any.
  enum class What : uint8_t { kDue, kAll };
  bool Write(What what, Nanos now);
  // Writes everything; an error if some rows could not be written.
  Status WriteAll(Nanos now);

  WriterCounts Counts() const;
  // How long rows waited to be written: the max of the last write.
  Nanos last_lag() const { return last_lag_.load(std::memory_order_relaxed); }

 private:
  // One second's rows are written together: people do not notice the delay, and DuckDB writes 1,000 rows in
  // the time of one.
  static constexpr Nanos kGatherTime = kSecond;
  static constexpr size_t kGatherRows = 8192;

  struct Gathered {
    DatasetTable rows;
    std::unordered_set<TraceId> traces;
    std::vector<TraceId> replaced;
    store::TimeRange time{INT64_MAX, INT64_MIN};
    std::vector<ProgressLedger::Hold> holds;
    Nanos since = 0;
  };
  struct Dataset {
    std::mutex writing;  // taken before `mutex_`, so that writes keep their order
    Gathered gathered;   // under mutex_
  };
  using Key = std::pair<std::string, std::string>;  // tenant, dataset

  std::shared_ptr<Dataset> Find(const Key& key);
  Status WriteOne(const Key& key, Dataset& dataset, Nanos now);

  RowSink& sink_;
  const OnFailure on_failure_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Dataset>> datasets_;
  WriterCounts counts_;
  std::atomic<Nanos> last_lag_{0};
};

}  // namespace wf::pipeline
