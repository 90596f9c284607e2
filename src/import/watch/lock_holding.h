// One hold of a lock by one thread, as the lock probe sees it in a process that was not instrumented.
#pragma once

#include <cstdint>

namespace wf::watch {

enum class LockMode : uint8_t { kMutex = 0, kRead = 1, kWrite = 2 };

// Times are of the kernel's monotonic clock, ns. 0: it did not happen during the watch.
struct LockHolding {
  uint64_t address = 0;  // of the lock, in the process
  uint64_t requested = 0;
  uint64_t acquired = 0;
  uint64_t released = 0;
  uint32_t thread = 0;  // as numbered in the process's own namespace
  LockMode mode = LockMode::kMutex;
  // The thread waited on a condition, which released the lock at `requested` and reacquired it some time
  // before `released`; the probe cannot see when. lock_reacquisition.h bounds it.
  bool after_condition = false;
};

// What the probe did not report, and why.
struct LockProbeCounters {
  uint64_t brief = 0;    // waited and held for less than the threshold
  uint64_t gave_up = 0;  // a try or a timed wait that did not get the lock
  // Released without a recorded acquisition: acquired before the probe, or by another thread.
  uint64_t unpaired = 0;
  uint64_t dropped_ring_full = 0;   // we read too slowly
  uint64_t dropped_table_full = 0;  // too many threads, or locks held, at once
};

}  // namespace wf::watch
