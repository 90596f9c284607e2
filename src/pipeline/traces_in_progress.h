// TracesInProgress: which traces are being processed, from reading their events to passing on their rows. Two
// threads on one trace could write the older result last.  Thread safety: all calls, from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "pipeline/trace_cache.h"

namespace wf::pipeline {

class TracesInProgress {
 public:
  // Held by every step of the work; the trace is free when the last copy is released.
  using Claim = std::shared_ptr<const TraceKey>;

  // Null if another thread is working on it.
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
  std::set<TraceKey> keys_;  // nodes keep their addresses
};

}  // namespace wf::pipeline
