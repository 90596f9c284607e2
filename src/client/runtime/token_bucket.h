// A token bucket in one atomic word: the time at which it would be full again (the generic cell rate algorithm). Any
// thread may take; nobody waits. A bucket may be a share of a larger one: rate and burst are then that part of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "client/runtime/deadline.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

class TokenBucket {
 public:
  explicit TokenBucket(TokenRate rate) : rate_(rate) {
    if (rate.per_second > 0) Set(1);
  }
  const TokenRate& rate() const { return rate_; }  // of the whole
  bool limited() const { return rate_.per_second > 0; }

  bool Take(int64_t now_ns = SteadyNs(SteadyClock::now())) {
    const int64_t interval = interval_ns_.load(std::memory_order_relaxed);
    if (interval == 0) return true;  // no limit
    asked_.fetch_add(1, std::memory_order_relaxed);
    const int64_t depth = depth_ns_.load(std::memory_order_relaxed);
    int64_t full_at = full_at_ns_.load(std::memory_order_relaxed);
    int64_t next;
    do {
      next = (full_at > now_ns ? full_at : now_ns) + interval;
      if (next - now_ns > depth) return false;
    } while (!full_at_ns_.compare_exchange_weak(full_at, next, std::memory_order_relaxed));
    return true;
  }
  void GiveBack() {
    full_at_ns_.fetch_sub(interval_ns_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  uint64_t asked() const { return asked_.load(std::memory_order_relaxed); }  // for a token

  // In (0, 1]. As many tokens are missing as before. One thread at a time; a Take meanwhile may count by the old one.
  void SetShare(double share, int64_t now_ns = SteadyNs(SteadyClock::now())) {
    if (!limited() || share == share_ || !(share > 0)) return;
    const int64_t before = interval_ns_.load(std::memory_order_relaxed);
    Set(std::min(share, 1.0));
    const double change = static_cast<double>(interval_ns_.load(std::memory_order_relaxed)) /
                          static_cast<double>(before);
    const int64_t missing = full_at_ns_.load(std::memory_order_relaxed) - now_ns;
    if (missing > 0)
      full_at_ns_.store(now_ns + static_cast<int64_t>(static_cast<double>(missing) * change),
                        std::memory_order_relaxed);
  }

 private:
  void Set(double share) {
    share_ = share;
    const double interval = 1e9 / (rate_.per_second * share);
    // Never below one whole token, and never so large that adding it overflows.
    const double burst = std::clamp(rate_.burst * share, 1.0, 1e6);
    interval_ns_.store(static_cast<int64_t>(std::min(interval, 1e15)), std::memory_order_relaxed);
    depth_ns_.store(static_cast<int64_t>(std::min(interval * burst, 4e18)),
                    std::memory_order_relaxed);
  }

  const TokenRate rate_;
  double share_ = 1;
  std::atomic<int64_t> interval_ns_{0};  // 0: no limit
  std::atomic<int64_t> depth_ns_{0};
  std::atomic<int64_t> full_at_ns_{0};
  std::atomic<uint64_t> asked_{0};
};

}  // namespace wherefore::client
