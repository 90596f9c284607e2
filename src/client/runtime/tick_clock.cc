#include "client/runtime/tick_clock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace wherefore::client {
namespace {

// A minute of anchors: an event drained later than that is converted by the oldest pair.
constexpr size_t kAnchors = 1024;
// Closer anchors would make the slope between them noise: reading a pair is good to about 50 ns.
constexpr int64_t kAnchorDistanceNs = 5'000'000;
// The wall clock was set: from then on times follow it.
constexpr int64_t kWallStepNs = 10'000'000;

}  // namespace

std::atomic<bool> use_time_stamp_counter{false};

bool TimeStampCounterIsSound() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || (d & 1u << 8) == 0) return false;
  FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  char name[16] = {};
  const size_t size = std::fread(name, 1, sizeof name - 1, file);
  std::fclose(file);
  return size >= 3 && std::strncmp(name, "tsc", 3) == 0;
#else
  return false;
#endif
}

TickCalibration::TickCalibration()
    : wall_offset_ns_(ClockNs(CLOCK_REALTIME) - ClockNs(CLOCK_MONOTONIC)) {
  anchors_.push_back(Read());
}

// The tightest of three readings: an interrupt may fall between the two clocks.
TickCalibration::Anchor TickCalibration::Read() {
  Anchor best{};
  int64_t best_width = INT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const int64_t before = Ticks();
    const int64_t now = ClockNs(CLOCK_MONOTONIC);
    const int64_t width = Ticks() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {before + width / 2, now + wall_offset_ns_};
  }
  return best;
}

void TickCalibration::AddAnchor() {
  const int64_t offset = ClockNs(CLOCK_REALTIME) - ClockNs(CLOCK_MONOTONIC);
  if (std::abs(offset - wall_offset_ns_) > kWallStepNs) {
    wall_offset_ns_ = offset;
    anchors_.clear();
  }
  const Anchor anchor = Read();
  if (!anchors_.empty() && anchor.unix_ns - anchors_.back().unix_ns < kAnchorDistanceNs) return;
  anchors_.push_back(anchor);
  if (anchors_.size() > kAnchors) anchors_.pop_front();
}

int64_t TickCalibration::UnixNs(int64_t ticks) const {
  if (anchors_.size() < 2) {
    // Only in the first milliseconds, or right after the wall clock was set. Without a second anchor the monotonic
    // clock is exact, and a time-stamp counter is not convertible: such events get the anchor's time.
    return use_time_stamp_counter.load(std::memory_order_relaxed)
               ? anchors_.back().unix_ns
               : anchors_.back().unix_ns + (ticks - anchors_.back().ticks);
  }
  auto after = std::lower_bound(anchors_.begin() + 1, anchors_.end() - 1, ticks,
                                [](const Anchor& a, int64_t t) { return a.ticks < t; });
  const Anchor& a = *(after - 1);
  const Anchor& b = *after;
  const double slope =
      static_cast<double>(b.unix_ns - a.unix_ns) / static_cast<double>(b.ticks - a.ticks);
  return a.unix_ns + static_cast<int64_t>(static_cast<double>(ticks - a.ticks) * slope);
}

}  // namespace wherefore::client
