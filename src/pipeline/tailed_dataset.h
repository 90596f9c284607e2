// What the tailer needs to know of datasets: whose they are, how a trace becomes rows of theirs, and where rows go.
// Interfaces, so that the tailer knows neither the feature language nor an engine; store_datasets.h has the real ones.
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
  // What is deployed now. A change shows in a later call: nothing is restarted.
  virtual std::shared_ptr<const TailedDatasets> Deployed(const std::string& tenant) = 0;
  // What extracting left out so far.
  struct Losses {
    int64_t over_budget = 0;   // traces that needed more work than a trace may: no rows
    int64_t rows_dropped = 0;  // beyond what one trace may have
  };
  virtual Losses ReadLosses() const { return {}; }
};

class RowSink {
 public:
  virtual ~RowSink() = default;
  // Durable when it returns. Earlier rows of the traces `replaced` go, in the same step; they lie in `time`.
  virtual Status Write(const std::string& tenant, const std::string& dataset,
                       const DatasetTable& rows, const std::vector<TraceId>& replaced,
                       store::TimeRange time) = 0;
};

}  // namespace wf::pipeline
