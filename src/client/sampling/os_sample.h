// What the kernel counts for this thread. Two system calls: about 0.5 µs.
#pragma once

#include <sys/resource.h>

#include <cstdint>

#include "client/runtime/tick_clock.h"

namespace wherefore::client {

struct OsSample {
  int64_t cpu_ns = 0;
  int64_t waits = 0;        // voluntary context switches
  int64_t preemptions = 0;  // involuntary ones
  int64_t minor_faults = 0;
  int64_t major_faults = 0;

  static OsSample Now() {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {ClockNs(CLOCK_THREAD_CPUTIME_ID), usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt,
            usage.ru_majflt};
  }
  OsSample Since(const OsSample& before) const {
    return {cpu_ns - before.cpu_ns, waits - before.waits, preemptions - before.preemptions,
            minor_faults - before.minor_faults, major_faults - before.major_faults};
  }
};

}  // namespace wherefore::client
