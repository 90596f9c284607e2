// Locks that were watched from outside (uprobes): their events lie in traces of their own, "locks of SERVICE", one a
// process and second. By process and thread they belong to whatever request that thread was at work on.
#pragma once

#include <vector>

#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

// Moves each holding to the innermost span of its thread at that time. Those of threads without any stay where they are:
// the thread itself is named then.
void JoinWatchedLocks(std::vector<TraceFrames>& frames);

// "vm:4711 12": who ran a block, where its process and thread are known; else empty.
std::string ThreadKey(const Trace& trace, const Block& block);

}  // namespace wf::provenance
