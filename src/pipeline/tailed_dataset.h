// What the tailer needs to know about datasets: their owners, how a trace becomes rows, and where rows go.
// These are interfaces, so that the tailer depends neither on the feature language nor on an engine;
// store_datasets.h implements them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/dataset_table.h"
#include "model/trace.h"
#include "store/store.h"

namespace wf::pipeline {

// A deployed dataset. Its functions may be called by several threads at once.
struct TailedDataset {
  std::string name, owner;
  std::function<DatasetTable()> new_table;                   // empty, with the right columns
  std::function<void(const Trace&, DatasetTable&)> extract;  // appends the trace's rows
  std::function<bool(const Trace&)> wants;  // the filter; absent: every trace may have rows
};
using TailedDatasets = std::vector<TailedDataset>;

// Thread safety of both: all calls, from any thread.
class DatasetSource {
 public:
  virtual ~DatasetSource() = default;
  // The datasets deployed now. A later call shows changes; no restart is needed.
  virtual std::shared_ptr<const TailedDatasets> Deployed(const std::string& tenant) = 0;
  // What extraction has left out so far.
  struct Losses {
    int64_t over_budget = 0;   // traces that exceeded the work limit: no rows
    int64_t rows_dropped = 0;  // beyond the limit for one trace
  };
  virtual Losses ReadLosses() const { return {}; }
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  // Durable on return. Earlier rows of the traces in `replaced` are removed in the same step; they are within
  // `time`.
  virtual Status Write(const std::string& tenant, const std::string& dataset,
                       const DatasetTable& rows, const std::vector<TraceId>& replaced,
                       store::TimeRange time) = 0;
};

}  // namespace wf::pipeline
