// LockProbe: which threads wait for which lock, and which hold it, in a process that was never instrumented
// (Zeno §6 used dtrace for the same). Uprobes on the lock functions of its C library put each hold into a
// ring buffer, which Poll reads. The process keeps running while probes come and go; each call of a lock
// function takes some microseconds longer (bench_lock_overhead), so a program that does little else becomes
// noticeably slower.
//
// Destroying the probe, or the end of this process, detaches it. One thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "import/watch/lock_holding.h"
#include "import/watch/watched_process.h"

namespace wf::watch {

struct LockProbeOptions {
  // Shorter holds, counting wait and hold together, are only counted. Fifty microseconds explain no delay,
  // most holds of most programs are shorter, and the probes themselves add about thirty (on a small virtual
  // machine).
  Nanos at_least = 50 * kMicro;
};

class LockProbe {
 public:
  using Take = std::function<void(const LockHolding&)>;
  static Result<std::unique_ptr<LockProbe>> Attach(const WatchedProcess& process,
                                                   const LockProbeOptions& options, Take take);
  virtual ~LockProbe() = default;

  // Passes on the holds released since the last call, in order; if there are none, waits up to `milliseconds`
  // and passes on what came.
  virtual Status Poll(int milliseconds) = 0;
  // Locks that are waited for or held now.
  virtual std::vector<LockHolding> Unfinished() const = 0;
  virtual LockProbeCounters Counters() const = 0;
  virtual size_t probes() const = 0;
};

}  // namespace wf::watch
