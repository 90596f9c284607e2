// RowWriter: rows of many traces on their way into datasets. They are gathered per dataset and written together, because
// a write is a transaction with a sync; a trace stands in what is gathered at most once, so that replacing its earlier
// rows never meets them half-way.
//
// Bounded: when a dataset has gathered more than it may, Add writes before it returns, which slows the extractors down,
// which fills the isolation queues, which sends traces to the delayed queue.
//
// Thread safety: all calls, from any thread; traces in progress are claimed by one (traces_in_progress.h), so the rows
// of one trace come in the order in which they were built.
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
  // A write that failed: these traces have lost their rows of the dataset, the caller sees to it that they come again.
  using OnFailure = std::function<void(
      const std::string& tenant, const std::string& dataset, const std::vector<TraceId>& traces,
      const std::vector<ProgressLedger::Hold>& holds, const Error& error)>;
  RowWriter(RowSink& sink, OnFailure on_failure)
      : sink_(sink), on_failure_(std::move(on_failure)) {}

  // Takes the rows that `trace` has in the dataset, which may be none.
  void Add(const std::string& dataset, const BuiltTrace& trace, DatasetTable rows, Nanos now);

  // Writes what has been gathered for at least `age`; true when there was something.
  enum class What : uint8_t { kDue, kAll };
  bool Write(What what, Nanos now);
  // Writes everything; an error when something could not be.
  Status WriteAll(Nanos now);

  WriterCounts Counts() const;
  // How long rows waited to be written, the longest of the last write.
  Nanos last_lag() const { return last_lag_.load(std::memory_order_relaxed); }

 private:
  // A second's rows together: people do not notice, and DuckDB writes 1,000 rows in the time of one.
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
