// A token bucket that may be overdrawn: whoever comes while anything is left is let through whole, and what he took too
// much has to flow in before the next one is. So a batch larger than a second's worth is late, never impossible.
//
// A rate that several processes divide (rate_shares.h) has a share, and knows what was asked of it. Not thread-safe.
#pragma once

#include <algorithm>

#include "base/nanos.h"

namespace wf::security {

class RateLimit {
 public:
  RateLimit(double per_second, double burst)
      : per_second_(per_second), burst_(burst), level_(burst) {}

  // 0: taken. Else how long to wait; nothing was taken.
  Nanos Take(double n, Nanos now) {
    MoveWindow(now);
    asked_ += n;
    const double flow = per_second_ * share_;
    if (told_ != 0 && now > told_)
      level_ = std::min(most(), level_ + flow * static_cast<double>(now - told_) / kSecond);
    told_ = std::max(now, told_);
    if (level_ <= 0)
      return static_cast<Nanos>(-level_ / flow * kSecond) + kMilli;  // a little above zero
    level_ -= n;
    return 0;
  }
  void Give(double n) { level_ = std::min(most(), level_ + n); }

  // In (0, 1]: so much of the rate flows in here from now on; the rest is others'.
  void SetShare(double share) {
    share_ = share;
    level_ = std::min(level_, most());
  }
  // What was asked for in the last seconds, given or not, as a multiple of the whole rate.
  double Demand(Nanos now) {
    MoveWindow(now);
    const double seconds = static_cast<double>(now - window_ + known_) / kSecond;
    return (asked_ + asked_before_) / std::max(seconds, 1.0) / per_second_;
  }

 private:
  // Of what is asked, two are looked at, the last whole one and the current: senders send every few seconds.
  static constexpr Nanos kWindow = 5 * kSecond;

  double most() const { return std::max(burst_ * share_, std::min(burst_, 1.0)); }
  void MoveWindow(Nanos now) {
    if (window_ != 0 && now - window_ < kWindow) return;
    const bool next = window_ != 0 && now - window_ < 2 * kWindow;
    asked_before_ = next ? asked_ : 0;
    known_ = next ? kWindow : 0;
    window_ = next ? window_ + kWindow : now;
    asked_ = 0;
  }

  double per_second_, burst_, level_, share_ = 1;
  Nanos told_ = 0;
  double asked_ = 0, asked_before_ = 0;
  Nanos window_ = 0, known_ = 0;  // when the current one began; of the one before, how long it was
};

}  // namespace wf::security
