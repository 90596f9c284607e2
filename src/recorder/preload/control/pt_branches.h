// Branches from the processor: Intel PT through perf_event_open. Each thread has its own event, which is
// switched on where a sub-computation begins and off where it ends. So the bytes in between belong to that
// sub-computation only, begin with packets where a decoder can start, and contain nothing of the recorder.
//
// Full trace: what was written is kept, and tracing stops when the buffer is full (PERF_AUX_FLAG_TRUNCATED).
// Overwrite: the newest bytes are kept, older ones are overwritten. In both modes, missing bytes are a gap
// with a reason.
//
// No processor with Intel PT was available when this was written, so capture has never run.
// docs/use/recording.md says so.
#pragma once

#include <cstdint>

#include "recorder/preload/region.h"

namespace wf::recorder {

enum class PtMode : uint8_t { kFullTrace, kOverwrite };

// Null, or why the processor cannot be used.
const char* PreparePt(PtMode mode);

void BeginPt(Slot* slot);  // the calling thread is that of the slot
void StartPt(Slot* slot);
void EndPt(Slot* slot);
void FinishPt(Slot* slot);  // the thread ends

}  // namespace wf::recorder
