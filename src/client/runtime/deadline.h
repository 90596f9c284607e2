// A moment on the steady clock by which an operation gives up. It may be brought forward while the
// operation runs, by another thread that shuts us down.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace wherefore::client {

using SteadyClock = std::chrono::steady_clock;

inline int64_t SteadyNs(SteadyClock::time_point when) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count();
}

class Deadline {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // `earlier`, when given, holds a steady time in ns and is borrowed for the deadline's lifetime.
  explicit Deadline(std::chrono::milliseconds from_now,
                    const std::atomic<int64_t>* earlier = nullptr)
      : at_ns_(SteadyNs(SteadyClock::now() + from_now)), earlier_(earlier) {}

  int64_t RemainingNs() const {
    int64_t at = at_ns_;
    if (earlier_ != nullptr) at = std::min(at, earlier_->load(std::memory_order_relaxed));
    return at - SteadyNs(SteadyClock::now());
  }
  bool passed() const { return RemainingNs() <= 0; }

  // How long to sleep before looking again: a change of `earlier` is noticed within 50 ms.
  int PollTimeoutMs() const {
    const int64_t remaining_ms = (RemainingNs() + 999'999) / 1'000'000;
    const int64_t limit = earlier_ != nullptr ? 50 : 60'000;
    return static_cast<int>(std::max<int64_t>(0, std::min(remaining_ms, limit)));
  }

 private:
  int64_t at_ns_;
  const std::atomic<int64_t>* earlier_;
};

}  // namespace wherefore::client
