// Clock alignment across hosts (Canopy §4.2, builders' pass 4): bounds from causal edges, gathered per pair of hosts
// and time window over the exchanges of all traces, then solved for one offset per host and window.
//
// A message from a to b cannot arrive before it was sent: recv_b - offset_b >= send_a - offset_a. So the least
// (recv - send) seen from a to b bounds offset_b - offset_a from above; the least seen from b to a bounds it from
// below. Offsets come from these bounds alone: order on one host stays the recorded order, because within a window
// all of a host's times move together and windows join without running backwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"

namespace wf {

// Clocks of machines drift by less than 30 ms in ten minutes (50 ppm).
constexpr Nanos kClockWindow = 10 * kMinute;

// The least difference (receive time - send time) seen from one host to another in one window.
struct ClockExchange {
  std::string from_host, to_host;
  Nanos window_ns = 0;  // start of the window, a multiple of kClockWindow
  Nanos least_ns = 0;
  int64_t count = 0;
};

// One host's clock from an instant on: true time = recorded time - offset, within ± error.
struct ClockOffset {
  std::string host;
  Nanos from_ns = 0;
  Nanos offset_ns = 0;
  Nanos error_ns = 0;
};

// Offsets of every host in every window that has exchanges, sorted by (host, from). Exchanges of one pair and
// window may be in several entries (one per segment); input order does not matter. `before`: offsets known
// from earlier windows; a host keeps its latest unless the exchanges contradict it. clock.cc describes the
// method.
std::vector<ClockOffset> SolveClocks(const std::vector<ClockExchange>& exchanges,
                                     const std::vector<ClockOffset>& before = {});

}  // namespace wf
