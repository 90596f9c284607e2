// StageMeter: the cost and the lag of one stage of the tailer. Thread safety: all calls, from any thread.
#pragma once

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "base/nanos.h"

namespace wf::pipeline {

inline Nanos ThreadCpuNow() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * kSecond + t.tv_nsec;
}

class StageMeter {
 public:
  void AddCpu(Nanos cpu) { cpu_.fetch_add(cpu, std::memory_order_relaxed); }
  void AddLag(Nanos lag, int64_t times = 1) {
    const auto clamped = static_cast<uint64_t>(std::max<Nanos>(lag, 0));
    const size_t bucket = clamped < 1024 ? 0 : static_cast<size_t>(54 - __builtin_clzll(clamped));
    buckets_[std::min(bucket, kBuckets - 1)].fetch_add(times, std::memory_order_relaxed);
    items_.fetch_add(times, std::memory_order_relaxed);
  }

  Nanos cpu() const { return cpu_.load(std::memory_order_relaxed); }
  int64_t items() const { return items_.load(std::memory_order_relaxed); }
  // Accurate to a factor of two, rounded up: buckets end at powers of two from 1 µs on.
  Nanos LagPercentile(double share) const {
    const auto rank = static_cast<int64_t>(share * static_cast<double>(items()));
    int64_t seen = 0;
    for (size_t b = 0; b < kBuckets; ++b) {
      seen += buckets_[b].load(std::memory_order_relaxed);
      if (seen > rank) return Nanos{1024} << b;
    }
    return 0;
  }

 private:
  static constexpr size_t kBuckets = 40;
  std::atomic<int64_t> cpu_{0}, items_{0};
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
};

// Adds the CPU time that this thread spends in a scope.
class StageTimer {
 public:
  explicit StageTimer(StageMeter& meter) : meter_(meter), before_(ThreadCpuNow()) {}
  ~StageTimer() { meter_.AddCpu(spent()); }
  Nanos spent() const { return ThreadCpuNow() - before_; }

 private:
  StageMeter& meter_;
  const Nanos before_;
};

}  // namespace wf::pipeline
