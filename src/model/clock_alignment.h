// Applying solved clock offsets on read: recorded time → aligned time, per host.
//
// An offset holds for the middle of its window. Towards the next window's middle it is interpolated, over the last
// kClockWindow before it; where windows are missing it is held until then; before the first it is held too. So an
// offset depends on the last window before an instant and on the one after it if that is near, and readers that load
// only these (Store::ReadClocks of the trace's time, a window more on each side) see the same clock.
// Interpolation rather than a step at each border: clocks drift, they seldom jump, and a step would make a host's time
// run backwards whenever its offset grows. Where offsets grow faster than time itself (a clock set back by more than a
// window), the aligned time stands still instead. So Align never reverses the order of two times of one host.
//
// Thread safety: read-only after construction.
#pragma once

#include <string_view>
#include <vector>

#include "model/clock.h"

namespace wf {

// One host's clock over time.
class HostClock {
 public:
  // `offsets` are one host's, sorted by from_ns.
  explicit HostClock(std::vector<ClockOffset> offsets);

  Nanos Align(Nanos recorded) const;
  // How far Align(recorded) may be off. Between two windows this includes half of the change of the offset,
  // because the interpolated offset may differ by that much from the one that satisfies its window's
  // messages.
  Nanos Error(Nanos recorded) const;
  std::string_view host() const { return offsets_.front().host; }
  const std::vector<ClockOffset>& offsets() const { return offsets_; }

 private:
  // Last window whose middle is <= recorded; size_t(-1) if none.
  size_t WindowBefore(Nanos recorded) const;

  std::vector<ClockOffset> offsets_;
  std::vector<Nanos> middle_;   // recorded time of each window's middle
  std::vector<Nanos> aligned_;  // what it aligns to: never decreasing
  std::vector<Nanos> ramp_;  // recorded time from which on the offset moves towards this window's
};

class HostClocks {
 public:
  HostClocks() = default;
  explicit HostClocks(const std::vector<ClockOffset>& offsets);
  const HostClock* Find(std::string_view host) const;  // nullptr: not moved

 private:
  std::vector<HostClock> hosts_;  // by name
};

}  // namespace wf
