// ProgressLedger: the time of receipt up to which everything has been processed. New work takes a hold on the
// second in which its oldest event was received, and every copy keeps that hold until the rows are durable or
// the trace is in the persistent delayed queue. So the watermark, the oldest second still held, is all that
// must be saved: after a crash, events received since then are checked again (tailer.cc, Recover). There is
// one hold per second and not per trace, because fifty thousand traces a second may pass.
//
// Thread safety: all calls, from any thread; holds may outlive the ledger.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/nanos.h"

namespace wf::pipeline {

class ProgressLedger {
 public:
  using Hold = std::shared_ptr<const Nanos>;  // the second's start

  Hold At(Nanos received) { return Exactly(received - ((received % kSecond) + kSecond) % kSecond); }
  // For any other growing number that is used instead of seconds (bus_tailer.h).
  Hold Exactly(Nanos place) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const Nanos>& at = seconds_[place];
    Hold hold = at.lock();
    if (hold == nullptr) at = hold = std::make_shared<const Nanos>(place);
    return hold;
  }

  // The oldest second still held, else `now`.
  Nanos Watermark(Nanos now) {
    const std::lock_guard lock(mutex_);
    while (!seconds_.empty() && seconds_.begin()->second.expired())
      seconds_.erase(seconds_.begin());
    return seconds_.empty() ? now : std::min(now, seconds_.begin()->first);
  }

 private:
  std::mutex mutex_;
  std::map<Nanos, std::weak_ptr<const Nanos>> seconds_;
};

}  // namespace wf::pipeline
