// StoreDatasets: the datasets of a store, for the tailer. They are compiled once and checked for changes
// every second, so that a new or changed one is deployed without a restart. Also writes their rows to the
// store, and to Parquet files where the definition asks for them.  Thread safety: all calls, from any thread.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "pipeline/dataset_catalog.h"
#include "pipeline/red_metrics.h"
#include "pipeline/tailed_dataset.h"

namespace wf::pipeline {

class StoreDatasets : public DatasetSource, public RowSink {
 public:
  // `folder`: of Parquet files, FOLDER/TENANT/NAME/HOUR.parquet.
  StoreDatasets(store::Store& store, std::string folder)
      : store_(store), folder_(std::move(folder)) {}

  std::shared_ptr<const TailedDatasets> Deployed(const std::string& tenant) override;
  Status Write(const std::string& tenant, const std::string& dataset, const DatasetTable& rows,
               const std::vector<TraceId>& replaced, store::TimeRange time) override;

  // Writes Parquet files of the hours that changed. An hour is written whole, so at most once a minute
  // (kDue), or at once (kNow).
  enum class When : uint8_t { kDue, kNow };
  Status WriteFiles(const std::string& tenant, When when);
  Status WriteFiles(When when);  // for all tenants whose rows were written

  Losses ReadLosses() const override;

  const RedMetrics& red() const { return red_; }

 private:
  struct Tenant {
    std::shared_ptr<const TailedDatasets> deployed;
    std::vector<DatasetDefinition> definitions;
    uint64_t version = 0;                                   // a hash of the saved texts
    Nanos looked = 0;                                       // monotonic
    std::set<std::pair<std::string, Nanos>> changed_hours;  // dataset, hour
    Nanos files_written = 0;                                // monotonic
  };
  struct LossCounters {
    std::atomic<int64_t> over_budget{0}, rows_dropped{0};
  };

  Status Reload(const std::string& tenant, Tenant& known);  // mutex_ held

  store::Store& store_;
  const std::string folder_;
  const std::shared_ptr<LossCounters> losses_ = std::make_shared<LossCounters>();
  std::mutex mutex_;
  std::map<std::string, Tenant> tenants_;
  RedMetrics red_;
};

}  // namespace wf::pipeline
