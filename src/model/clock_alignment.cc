#include "model/clock_alignment.h"

#include <algorithm>

namespace wf {

HostClock::HostClock(std::vector<ClockOffset> offsets) : offsets_(std::move(offsets)) {
  for (const ClockOffset& o : offsets_) {
    const Nanos middle = SaturatingAdd(o.from_ns, kClockWindow / 2);
    Nanos aligned = SaturatingSub(middle, o.offset_ns);
    Nanos ramp = SaturatingSub(middle, kClockWindow);
    if (!aligned_.empty()) {
      ramp = std::max(ramp, middle_.back());
      aligned =
          std::max(aligned, SaturatingAdd(aligned_.back(), SaturatingSub(ramp, middle_.back())));
    }
    middle_.push_back(middle);
    aligned_.push_back(aligned);
    ramp_.push_back(ramp);
  }
}

size_t HostClock::WindowBefore(Nanos recorded) const {
  return static_cast<size_t>(std::upper_bound(middle_.begin(), middle_.end(), recorded) -
                             middle_.begin()) -
         1;
}

Nanos HostClock::Align(Nanos recorded) const {
  const size_t i = WindowBefore(recorded);
  if (i == static_cast<size_t>(-1)) {
    return SaturatingSub(recorded, SaturatingSub(middle_.front(), aligned_.front()));
  }
  const bool last = i + 1 == middle_.size();
  if (last || recorded <= ramp_[i + 1])
    return SaturatingAdd(aligned_[i], SaturatingSub(recorded, middle_[i]));
  // 128 bits: a product of two spans of time overflows 64.
  const Nanos from = SaturatingAdd(aligned_[i], SaturatingSub(ramp_[i + 1], middle_[i]));
  const __int128 rise = static_cast<__int128>(aligned_[i + 1]) - from;
  const __int128 run = static_cast<__int128>(middle_[i + 1]) - ramp_[i + 1];
  const __int128 since = static_cast<__int128>(recorded) - ramp_[i + 1];
  return static_cast<Nanos>(from + rise * since / run);
}

Nanos HostClock::Error(Nanos recorded) const {
  const size_t i = WindowBefore(recorded);
  if (i == static_cast<size_t>(-1)) return offsets_.front().error_ns;
  if (i + 1 == middle_.size() || recorded <= ramp_[i + 1]) return offsets_[i].error_ns;
  const Nanos moved = SaturatingSub(SaturatingSub(middle_[i + 1], aligned_[i + 1]),
                                    SaturatingSub(middle_[i], aligned_[i]));
  const Nanos half = moved < 0 ? -(moved / 2) : moved / 2;
  return SaturatingAdd(std::max(offsets_[i].error_ns, offsets_[i + 1].error_ns),
                       half == 0 ? 0 : half + 1);
}

HostClocks::HostClocks(const std::vector<ClockOffset>& offsets) {
  std::vector<ClockOffset> sorted = offsets;
  std::stable_sort(sorted.begin(), sorted.end(), [](const ClockOffset& a, const ClockOffset& b) {
    return a.host != b.host ? a.host < b.host : a.from_ns < b.from_ns;
  });
  for (size_t i = 0; i < sorted.size();) {
    std::vector<ClockOffset> one;
    const std::string host = sorted[i].host;  // a copy: the entries are moved away
    for (; i < sorted.size() && sorted[i].host == host; ++i) {
      // Two answers for one window: the later one in the list was solved later.
      if (!one.empty() && one.back().from_ns == sorted[i].from_ns) one.pop_back();
      one.push_back(std::move(sorted[i]));
    }
    hosts_.emplace_back(std::move(one));
  }
}

const HostClock* HostClocks::Find(std::string_view host) const {
  if (host.empty()) return nullptr;
  const auto at =
      std::lower_bound(hosts_.begin(), hosts_.end(), host,
                       [](const HostClock& clock, std::string_view h) { return clock.host() < h; });
  return at != hosts_.end() && at->host() == host ? &*at : nullptr;
}

}  // namespace wf
