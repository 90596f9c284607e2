// A token bucket in one atomic word: the time at which it would be full again (the generic cell rate algorithm). Any
// thread may take; nobody waits.
#pragma once

#include <atomic>
#include <cstdint>

#include "client/deadline.h"
#include "wherefore/tracer.h"

namespace wherefore::client {

class TokenBucket {
 public:
  explicit TokenBucket(TokenRate rate) : rate_(rate) {
    if (rate.per_second <= 0) return;
    interval_ns_ = static_cast<int64_t>(1e9 / rate.per_second);
    // Never below one whole token, and never so large that adding it overflows.
    const double burst = rate.burst < 1 ? 1 : rate.burst > 1e6 ? 1e6 : rate.burst;
    depth_ns_ = static_cast<int64_t>(static_cast<double>(interval_ns_) * burst);
  }
  const TokenRate& rate() const { return rate_; }

  bool Take(int64_t now_ns = SteadyNs(SteadyClock::now())) {
    if (interval_ns_ == 0) return true;  // no limit
    int64_t full_at = full_at_ns_.load(std::memory_order_relaxed);
    int64_t next;
    do {
      next = (full_at > now_ns ? full_at : now_ns) + interval_ns_;
      if (next - now_ns > depth_ns_) return false;
    } while (!full_at_ns_.compare_exchange_weak(full_at, next, std::memory_order_relaxed));
    return true;
  }
  void GiveBack() { full_at_ns_.fetch_sub(interval_ns_, std::memory_order_relaxed); }

 private:
  const TokenRate rate_;
  int64_t interval_ns_ = 0;  // 0: no limit
  int64_t depth_ns_ = 0;
  std::atomic<int64_t> full_at_ns_{0};
};

}  // namespace wherefore::client
