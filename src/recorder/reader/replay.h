// The synchronization of a recording once more, in an order in which it can have happened: each thread's actions in
// program order, each object's in the order of their sequence numbers. Whoever computes something that flows along
// synchronization (clocks, edges) does it here.
//
// A recording that was made by a program always has such an order: time was one. Of a damaged or invented file the
// actions that wait for each other in a circle are taken as they come, and counted; what is computed stays acyclic,
// because everything flows from what was replayed to what is replayed later.
#pragma once

#include <cstdint>
#include <functional>

#include "recorder/reader/recording.h"

namespace wf::recorder {

bool IsRelease(Role role);

struct ReplayVisitor {
  // A sub-computation begins: everything that its opening call acquired has been seen.
  std::function<void(SubId)> begin;
  // `sub` ended by a call that released, or is being opened by one that acquired.
  std::function<void(SubId sub, const Action&)> release;
  std::function<void(SubId sub, const Action&)> acquire;
};

// The number of actions taken out of order; 0 for what a recorder wrote.
uint64_t Replay(const Recording& recording, const ReplayVisitor& visitor);

}  // namespace wf::recorder
