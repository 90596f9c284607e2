// Which resources the segments of traces hold, and how many servers each has: workers of processes, locks, partitions,
// items of queues, named resources.
#pragma once

#include <string>
#include <vector>

#include "analysis/provenance/event_drafts.h"
#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

struct HeldResources {
  std::vector<std::string> names;  // DraftHold::resource is an index in it
  std::vector<int64_t> servers;    // of each
  int64_t dropped = 0;             // holds of work that names more than it can have held
};

// Fills the holds of all segments among `drafts`, and records in `assumed` what was assumed.
HeldResources HoldResources(const std::vector<TraceFrames>& frames,
                            const TraceExecutionOptions& options, std::vector<Draft>& drafts,
                            TraceAssumptions& assumed);

}  // namespace wf::provenance
