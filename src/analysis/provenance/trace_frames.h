// TraceFrames: how the blocks of one trace hang together for provenance: who waits for whom, from when to when, and
// when requests arrived. Times are moved where they contradict that: a child that is waited for lies within its parent.
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
  kNone,      // no work of its own: a wait, or the holding of a lock
  kRoot,      // asked from outside
  kCalled,    // the parent waits for it, within its process
  kSpawned,   // the parent goes on, within its process
  kRemote,    // a remote call
  kReceived,  // a message nobody waits for, of another process
  kTaken,     // an item of a queue
};

struct Frame {
  FrameKind kind = FrameKind::kNone;
  uint32_t parent = kNone;   // the block that caused it: a queue's item, who put it
  uint32_t waiter = kNone;   // the block that waits for its end; kNone: nobody
  uint32_t head = kNone;     // the block with which its thread's work began
  Nanos start = 0, end = 0;  // moved where needed
  Nanos asked = 0;           // when the parent was done with it: it waits for a connection, then
  Nanos sent = 0;            // is let go
  Nanos arrived =
      0;  // when it could have begun, but for resources; asked <= sent <= arrived <= start
  Nanos received = 0;  // when the waiter had the answer; end <= received
  std::optional<Nanos> told_arrival;
  bool estimate_arrival = false;  // its client is known, its arrival is not
};

// A wait for a lock and the hold that followed.
struct LockUse {
  uint32_t block = kNone;  // where
  uint32_t hold = kNone;   // the block of kind kHold; kNone: never acquired
  std::string resource;
  bool waited = false;
  Nanos requested = 0, acquired = 0, released = 0;
};

// A recorded relation that parentage does not tell: a join, a continuation, a link.
struct EdgeUse {
  uint32_t from = kNone, to = kNone;  // blocks that are work
  Nanos sent = 0, received = 0;       // sent <= received
  Nanos waiting = INT64_MAX;          // since when, if that is told
  bool blocking = false;
};

struct TraceFrames {
  const Trace* trace = nullptr;
  std::vector<Frame> frames;    // one a block
  std::vector<uint32_t> order;  // blocks that are work, parents first
  std::vector<LockUse> locks;   // by (block, requested)
  std::vector<EdgeUse> edges;
  int64_t moved = 0;
};

TraceFrames MakeFrames(const Trace& trace);

// Least (start or arrival - sent) for each pair of services.
void CollectOneWayTimes(const TraceFrames& frames, OneWayTimes& least);
// Fills `arrived` of frames whose arrival is not told; counts what was done.
void EstimateArrivals(TraceFrames& frames, const OneWayTimes& least, TraceAssumptions& assumed);

}  // namespace wf::provenance
