// What a trace shows by itself: where it may have waited, and the min time that messages take.
#include <algorithm>

#include "analysis/provenance/trace_frames.h"
#include "analysis/provenance/trace_pools.h"

namespace wf::provenance {

bool AddOneWayTimes(const Trace& trace, OneWayTimes& least) {
  const TraceFrames frames = MakeFrames(trace);
  CollectOneWayTimes(frames, least);
  return std::any_of(frames.frames.begin(), frames.frames.end(),
                     [](const Frame& f) { return f.estimate_arrival; });
}

std::vector<ThreadWork> FindThreadWork(const Trace& trace) {
  const TraceFrames frames = MakeFrames(trace);
  std::vector<ThreadWork> work;
  for (const uint32_t b : frames.order) {
    const Frame& f = frames.frames[b];
    if (f.head == b && !ThreadOf(trace, trace.blocks[b]).empty())
      work.push_back({b, f.start, f.end});
  }
  return work;
}

std::vector<TraceWait> FindWaits(const Trace& trace) {
  const TraceFrames frames = MakeFrames(trace);
  std::vector<TraceWait> waits;
  for (const uint32_t b : frames.order) {
    const Frame& f = frames.frames[b];
    const Nanos since = f.estimate_arrival ? f.sent : f.arrived;
    if (since < f.start) waits.push_back({b, since, f.start});
    // For a connection, perhaps: how much of the way it was is known when others are.
    if (f.kind == FrameKind::kRemote && f.told_arrival && f.sent < f.arrived &&
        PoolOf(trace, trace.blocks[f.parent]))
      waits.push_back({f.parent, f.sent, f.arrived});
  }
  for (const LockUse& use : frames.locks) {
    if (use.waited) waits.push_back({use.block, use.requested, use.acquired});
  }
  return waits;
}

}  // namespace wf::provenance
