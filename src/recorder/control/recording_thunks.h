// The thunks of one sub-computation of a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "recorder/control/thunk.h"
#include "recorder/reader/recording.h"

namespace wf::recorder {

struct ThunksRead {
  std::optional<BranchSource> source;  // empty: nothing was recorded for the thread
  uint64_t thunks = 0;
  uint64_t gaps = 0;
};

using SourcedThunkSink = std::function<void(BranchSource, const Thunk&)>;

// Reads the recording's file again, for the branches of one thread only: they may be larger than memory.
Result<ThunksRead> ReadThunks(const Recording& recording, SubId sub, const SourcedThunkSink& sink);

}  // namespace wf::recorder
