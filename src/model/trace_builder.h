// BuildTrace: the events of one trace → the modeled trace (Canopy §4.2 "Model Construction"): one handler per event
// type, then repair passes in a fixed order, then the invariants. Pure, deterministic and independent of the order
// in which the events are given.
#pragma once

#include "model/clock_alignment.h"
#include "model/trace.h"

namespace wf {

struct BuildOptions {
  // Solved clocks of the hosts, borrowed for the call. Without them nothing is moved.
  const HostClocks* clocks = nullptr;
  ClockMode clock = ClockMode::kAligned;
  // What is missing may still come while the newest event is younger than kStillComing. 0: unknown, nothing may.
  Nanos now_ns = 0;
};

// The tailer builds a trace 10 s after its last event and at most 60 s after its first. An event that arrives
// more than 10 s after a whole trace is late; what is still missing after 60 s is lost.
constexpr Nanos kLateAfter = 10 * kSecond;
constexpr Nanos kStillComing = 60 * kSecond;

// The result borrows `events`. `rows` are all the rows of one trace, for batches that hold several; without them,
// every row of the batch must be of one trace.
Trace BuildTrace(const EventBatch& events, const BuildOptions& options = {});
Trace BuildTrace(const EventBatch& events, std::vector<uint32_t> rows,
                 const BuildOptions& options = {});

}  // namespace wf
