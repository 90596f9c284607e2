// Cuts through a recording (INSPECTOR §VI): of each thread the first so many sub-computations. A cut is consistent if
// what happens before anything in it is in it too: every b in the cut has clock(b)[u] ≤ cut[u]. What came before a file of
// slots begins counts as in it.
#pragma once

#include <cstdint>
#include <vector>

#include "recorder/reader/clocks.h"
#include "recorder/reader/recording.h"

namespace wf::lineage {

using Cut = std::vector<uint32_t>;  // of each thread, how many

bool IsConsistent(const recorder::Recording& recording, const recorder::Clocks& clocks,
                  const Cut& cut);
// The largest consistent cut within `cut`: there is exactly one.
Cut LargestConsistent(const recorder::Recording& recording, const recorder::Clocks& clocks,
                      Cut cut);
// All sub-computations that had ended by then.
Cut CutAt(const recorder::Recording& recording, int64_t time_ns);
// The cut that a snapshot is.
Cut SnapshotCut(const recorder::Recording& recording, const recorder::Clocks& clocks,
                const recorder::SnapshotFacts& snapshot);
// The recording as if nothing else had been recorded. Threads beyond the entries of `cut` are left out.
recorder::Recording Restricted(const recorder::Recording& recording, const Cut& cut);

}  // namespace wf::lineage
