// Signals from outside, at data depth: they reach the program's first process, the only one that the outside knows. If that
// thread blocks one and another takes it (a handler, or sigwait in a thread of its own), it must go there. The kernel
// knows nothing of that, so the scribe, who runs all the time, looks now and then what waits at the first process.
#pragma once

#include "recorder/preload/region.h"

namespace wf::recorder {

constexpr int kControlSignal = 64;

// By the scribe. What waits, and is blocked, is noted, and the process is sent the control signal.
void LookForOutsideSignals(Region* region);

}  // namespace wf::recorder
