// Locks that were watched from outside (uprobes): their events are in traces of their own, "locks of
// SERVICE", one per process and second. Process and thread show which request the thread was working on.
#pragma once

#include <vector>

#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

// Moves each hold to the innermost span of its thread at that time. Holds of threads without a span stay
// where they are; then the thread itself is named.
void JoinWatchedLocks(std::vector<TraceFrames>& frames);

// "vm:4711 12": the thread that ran a block, where process and thread are known; else empty.
std::string ThreadKey(const Trace& trace, const Block& block);

}  // namespace wf::provenance
