// What a server does every few seconds besides answering: retention, clock offsets, files of datasets. Errors are logged
// and counted; the next round tries again. In a cluster one process at a time does it (`mine`).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/nanos.h"
#include "pipeline/counters.h"
#include "pipeline/store_datasets.h"
#include "store/store.h"

namespace wf::server {

struct HousekeepingContext {
  store::Store& store;
  pipeline::StoreDatasets& datasets;
  pipeline::Counters& counters;
  std::optional<Nanos> retention_age_ns;
  std::optional<int64_t> retention_bytes;
  std::function<bool()> mine;  // empty: always
};

class Housekeeping {
 public:
  explicit Housekeeping(HousekeepingContext context);  // begins at once
  ~Housekeeping();                                     // stops
  void Stop();

 private:
  void Run();
  void Round();
  void Note(const char* what, const Status& status);

  const HousekeepingContext context_;
  Nanos clocks_refreshed_, datasets_retained_;
  bool retention_told_ = false;  // to the store
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace wf::server
