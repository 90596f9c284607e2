// Synchronization edges: from the sub-computation that released an object to the one that began with another
// thread's acquire of it. Together with program order they give the order of the clocks.
//
// Edges that follow from others of the same object are left out: an acquire sees every earlier release, but
// where a releasing thread had itself acquired the object, or released it again, its last release covers the
// earlier ones. So a mutex has one edge per hand-over, a condition variable one per signal that no thread had
// seen yet.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/reader/recording.h"

namespace wf::lineage {

struct SyncEdge {
  recorder::SubId from = 0, to = 0;
  uint32_t object = 0;  // its index in the recording
  bool operator==(const SyncEdge&) const = default;
};

// By from, to, object.
std::vector<SyncEdge> SyncEdges(const recorder::Recording& recording);

}  // namespace wf::lineage
