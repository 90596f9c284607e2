// A token bucket that may be overdrawn: whoever comes while anything is left is let through whole, and what he took too
// much has to flow in before the next one is. So a batch larger than a second's worth is late, never impossible.
// Not thread-safe.
#pragma once

#include <algorithm>

#include "base/nanos.h"

namespace wf {

class RateLimit {
 public:
  RateLimit(double per_second, double burst)
      : per_second_(per_second), burst_(burst), level_(burst) {}

  // 0: taken. Else how long to wait; nothing was taken.
  Nanos Take(double n, Nanos now) {
    if (told_ != 0 && now > told_)
      level_ = std::min(burst_, level_ + per_second_ * static_cast<double>(now - told_) / kSecond);
    told_ = std::max(now, told_);
    if (level_ <= 0)
      return static_cast<Nanos>(-level_ / per_second_ * kSecond) + kMilli;  // a little above zero
    level_ -= n;
    return 0;
  }
  void Give(double n) { level_ = std::min(burst_, level_ + n); }

 private:
  double per_second_, burst_, level_;
  Nanos told_ = 0;
};

}  // namespace wf
