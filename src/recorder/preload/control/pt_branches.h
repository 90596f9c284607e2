// Branches from the processor: Intel PT through perf_event_open. Each thread has an event of its own, which is switched on
// where a sub-computation begins and off where it ends; so the bytes between belong to that one alone, begin with
// packets that let a decoder begin there, and hold nothing of the recorder.
//
// Full trace: what was written is kept, and tracing stops when the buffer is full (PERF_AUX_FLAG_TRUNCATED). Overwrite:
// the newest bytes are kept, the older ones give way. Either way what is missing is a gap with its reason.
//
// No processor with Intel PT was at hand when this was written: capture has never run. docs/use/recording.md says so.
#pragma once

#include <cstdint>

#include "recorder/preload/region.h"

namespace wf::recorder {

enum class PtMode : uint8_t { kFullTrace, kOverwrite };

// Null, or why the processor cannot be asked.
const char* PreparePt(PtMode mode);

void BeginPt(Slot* slot);  // the calling thread is that of the slot
void StartPt(Slot* slot);
void EndPt(Slot* slot);
void FinishPt(Slot* slot);  // the thread ends

}  // namespace wf::recorder
