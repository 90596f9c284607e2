// Cheap timestamps: the processor's time-stamp counter where the kernel itself trusts it, else the monotonic clock.
//
// Threads that record take raw ticks (about 10 ns). The thread that drains their buffers turns ticks into Unix ns:
// it takes anchors, pairs of (ticks, time) read together, at each round, and interpolates between the two anchors
// around an event. So the conversion follows the kernel's clock discipline, needs no waiting at the start, and gives
// the same time for the same tick whichever thread took it.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <deque>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace wherefore::client {

inline int64_t ClockNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Set once, by the first tracer, before anything is recorded.
extern std::atomic<bool> use_time_stamp_counter;
// Invariant (cpuid), and the kernel's own clock source, which it is only while the cores agree on it.
bool TimeStampCounterIsSound();

inline int64_t Ticks() {
#if defined(__x86_64__)
  if (use_time_stamp_counter.load(std::memory_order_relaxed)) {
    return static_cast<int64_t>(__rdtsc());
  }
#endif
  return ClockNs(CLOCK_MONOTONIC);
}

// One thread at a time.
class TickCalibration {
 public:
  TickCalibration();
  void AddAnchor();
  int64_t UnixNs(int64_t ticks) const;

 private:
  struct Anchor {
    int64_t ticks;
    int64_t unix_ns;
  };
  Anchor Read();

  int64_t wall_offset_ns_;  // Unix time minus monotonic time
  std::deque<Anchor> anchors_;
};

}  // namespace wherefore::client
