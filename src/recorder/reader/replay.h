// Replays the synchronization of a recording in a possible order: each thread's actions in program order,
// each object's in the order of their sequence numbers. Everything that flows along synchronization (clocks,
// edges) is computed this way.
//
// A real recording always has such an order, because time gave one. In a damaged or invented file, actions
// that wait for each other in a cycle are taken as they come, and counted; the result stays acyclic, because
// everything flows from actions replayed earlier to those replayed later.
#pragma once

#include <cstdint>
#include <functional>

#include "recorder/reader/recording.h"

namespace wf::recorder {

bool IsRelease(Role role);

struct ReplayVisitor {
  // A sub-computation begins: everything that its opening call acquired has been visited.
  std::function<void(SubId)> begin;
  // `sub` was ended by a call that released, or is being opened by one that acquired.
  std::function<void(SubId sub, const Action&)> release;
  std::function<void(SubId sub, const Action&)> acquire;
};

// Returns the number of actions taken out of order; 0 for a file that a recorder wrote.
uint64_t Replay(const Recording& recording, const ReplayVisitor& visitor);

}  // namespace wf::recorder
