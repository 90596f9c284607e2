// Cuts through a recording (INSPECTOR §VI): the first n sub-computations of each thread, n given per thread.
// A cut is consistent if everything that happens before a member is a member too: every b in the cut has
// clock(b)[u] ≤ cut[u]. Whatever came before the start of a file of slots counts as part of the cut.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

using Cut = std::vector<uint32_t>;  // per thread, how many

bool IsConsistent(const recorder::Recording& recording, const recorder::Clocks& clocks,
                  const Cut& cut);
// The largest consistent cut within `cut`: there is exactly one.
Cut LargestConsistent(const recorder::Recording& recording, const recorder::Clocks& clocks,
                      Cut cut);
// All sub-computations that had ended by then.
Cut CutAt(const recorder::Recording& recording, int64_t time_ns);
// The cut that a snapshot stands for.
Cut SnapshotCut(const recorder::Recording& recording, const recorder::Clocks& clocks,
                const recorder::SnapshotFacts& snapshot);
// The recording reduced to the cut. Threads beyond the entries of `cut` are left out.
recorder::Recording Restricted(const recorder::Recording& recording, const Cut& cut);

}  // namespace wf::lineage
