// A token bucket that may be overdrawn: a request is admitted whole while tokens remain, and the overdraft
// has to be refilled before the next request is admitted. So a batch larger than a second's worth is late,
// but never impossible.
//
// If several processes divide a rate (rate_shares.h), each has a share of it and measures the demand. Not
// thread-safe.
#pragma once

#include <algorithm>

#include "base/nanos.h"

namespace wf::security {

class RateLimit {
 public:
  RateLimit(double per_second, double burst)
      : per_second_(per_second), burst_(burst), level_(burst) {}

  // Returns 0 if the tokens were taken, else how long to wait; then nothing was taken.
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

  // In (0, 1]: the part of the rate that this process has from now on; other processes have the rest.
  void SetShare(double share) {
    share_ = share;
    level_ = std::min(level_, most());
  }
  // The tokens requested in the last seconds, granted or not, as a multiple of the whole rate.
  double Demand(Nanos now) {
    MoveWindow(now);
    const double seconds = static_cast<double>(now - window_ + known_) / kSecond;
    return (asked_ + asked_before_) / std::max(seconds, 1.0) / per_second_;
  }

 private:
  // Demand is measured over two windows, the last whole one and the current one, because senders send every
  // few seconds.
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
  // When the current window began, and the length of the previous one.
  Nanos window_ = 0, known_ = 0;
};

}  // namespace wf::security
