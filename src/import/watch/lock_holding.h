// A lock as one thread had it once: what the lock probe sees in a process that knows nothing of us.
#pragma once

#include <cstdint>

namespace wf::watch {

enum class LockMode : uint8_t { kMutex = 0, kRead = 1, kWrite = 2 };

// Times are of the kernel's monotonic clock, ns. 0: it did not happen while we watched.
struct LockHolding {
  uint64_t address = 0;  // of the lock, in the process
  uint64_t requested = 0;
  uint64_t acquired = 0;
  uint64_t released = 0;
  uint32_t thread = 0;  // as the process itself sees it
  LockMode mode = LockMode::kMutex;
  // It waited on a condition, which gave the lock up at `requested` and took it again some time before `released`;
  // when, the probe cannot see. lock_reacquisition.h bounds it.
  bool after_condition = false;
};

// What the probe did not tell, and why.
struct LockProbeCounters {
  uint64_t brief = 0;    // waited and held for less than was asked for
  uint64_t gave_up = 0;  // a try or a timed wait that did not get the lock
  uint64_t unpaired =
      0;  // released without having been seen acquired: taken before the probe, or by another thread
  uint64_t dropped_ring_full = 0;   // we read too slowly
  uint64_t dropped_table_full = 0;  // too many threads, or locks held, at once
};

}  // namespace wf::watch
