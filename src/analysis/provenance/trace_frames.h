// TraceFrames: how the blocks of one trace are related for provenance: which block waits for which, from when
// to when, and when requests arrived. Times that contradict this are moved: a child that is waited for lies
// within its parent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/provenance/trace_execution.h"
#include "model/trace.h"

namespace wf::provenance {

enum class FrameKind : uint8_t {
  kNone,      // no work of its own: a wait, or the hold of a lock
  kRoot,      // a request from outside
  kCalled,    // within its process; the parent waits for it
  kSpawned,   // within its process; the parent goes on
  kRemote,    // a remote call
  kReceived,  // a message from another process that nothing waits for
  kTaken,     // an item of a queue
};

struct Frame {
  FrameKind kind = FrameKind::kNone;
  uint32_t parent = kNone;   // the block that caused it, or put it into the queue
  uint32_t waiter = kNone;   // the block that waits for its end; kNone: none
  uint32_t head = kNone;     // the block that began its thread's work
  Nanos start = 0, end = 0;  // moved where needed
  Nanos asked = 0;           // when the parent issued it; then it waits for a connection
  Nanos sent = 0;            // when it was sent
  // When it could have begun if all resources were free; asked <= sent <= arrived <= start.
  Nanos arrived = 0;
  Nanos received = 0;  // when the waiter had the answer; end <= received
  std::optional<Nanos> told_arrival;
  bool estimate_arrival = false;  // its client is known, its arrival is not
};

// A wait for a lock and the hold that followed.
struct LockUse {
  uint32_t block = kNone;  // where it waits
  uint32_t hold = kNone;   // the block of kind kHold; kNone: never acquired
  std::string resource;
  bool waited = false;
  Nanos requested = 0, acquired = 0, released = 0;
};

// A recorded relation beyond parentage: a join, a continuation, a link.
struct EdgeUse {
  uint32_t from = kNone, to = kNone;  // blocks that are work
  Nanos sent = 0, received = 0;       // sent <= received
  Nanos waiting = INT64_MAX;          // start of the wait, if recorded
  bool blocking = false;
};

struct TraceFrames {
  const Trace* trace = nullptr;
  std::vector<Frame> frames;    // one per block
  std::vector<uint32_t> order;  // blocks that are work, parents first
  std::vector<LockUse> locks;   // by (block, requested)
  std::vector<EdgeUse> edges;
  int64_t moved = 0;
};

TraceFrames MakeFrames(const Trace& trace);

// The min (start or arrival - sent) for each pair of services.
void CollectOneWayTimes(const TraceFrames& frames, OneWayTimes& least);
// Fills `arrived` of frames without a recorded arrival, and counts what was assumed.
void EstimateArrivals(TraceFrames& frames, const OneWayTimes& least, TraceAssumptions& assumed);

}  // namespace wf::provenance
