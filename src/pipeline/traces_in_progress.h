// TracesInProgress: which traces somebody is processing, from reading their events to handing over their rows. Two at
// work on one trace could write the older answer last.  Thread safety: all calls, from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "pipeline/trace_cache.h"

namespace wf::pipeline {

class TracesInProgress {
 public:
  // Held by everyone who has a part in the work; the trace is free when the last lets go.
  using Claim = std::shared_ptr<const TraceKey>;

  // Null when another is at work on it.
  Claim TryClaim(const TraceKey& key) {
    const std::lock_guard lock(mutex_);
    const auto [at, fresh] = keys_.insert(key);
    if (!fresh) return nullptr;
    return Claim(&*at, [this](const TraceKey* done) {
      const std::lock_guard release(mutex_);
      keys_.erase(keys_.find(*done));
    });
  }

 private:
  std::mutex mutex_;
  std::set<TraceKey> keys_;  // nodes stay where they are
};

}  // namespace wf::pipeline
