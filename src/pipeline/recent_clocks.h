// RecentClocks: the hosts' clocks for many groups of traces one after another. Clocks drift slowly, so they
// are looked up again only from time to time, and sooner for a host without a clock. Thread safety: all
// calls, from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "model/clock_alignment.h"
#include "model/event_batch.h"
#include "store/clock_store.h"

namespace wf::pipeline {

class RecentClocks {
 public:
  explicit RecentClocks(store::ClockStore& store) : store_(store) {}
  // `now`: any clock that does not run backwards.
  Result<std::shared_ptr<const HostClocks>> For(const EventBatch& events, Nanos now);

 private:
  struct Window {
    std::shared_ptr<const HostClocks> clocks;
    Nanos loaded = 0;
    Nanos until = 0;  // of the events they were loaded for
  };
  store::ClockStore& store_;
  std::mutex mutex_;
  std::map<std::pair<std::string, Nanos>, Window> windows_;  // by tenant and start of window
};

}  // namespace wf::pipeline
