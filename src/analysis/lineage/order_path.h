// How two sub-computations are ordered, and a shortest chain of control and synchronization edges from one to
// the other.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/lineage/sync_edges.h"
#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

enum class Relation : uint8_t { kSame, kBefore, kAfter, kConcurrent };

Relation RelationOf(const recorder::Clocks& clocks, recorder::SubId a, recorder::SubId b);

// From the earlier to the later, both included; `from` must happen before `to`, or be the same.
std::vector<recorder::SubId> PathBetween(const recorder::Recording& recording,
                                         const recorder::Clocks& clocks,
                                         const std::vector<SyncEdge>& edges, recorder::SubId from,
                                         recorder::SubId to);

}  // namespace wf::lineage
