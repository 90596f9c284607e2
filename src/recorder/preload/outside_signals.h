// Signals from outside, at data depth: they reach the program's first process, the only one that is known
// outside. If that thread blocks a signal and another thread handles it (with a handler, or with sigwait), it
// must go there. The kernel does not know this, so the scribe, which runs all the time, regularly checks
// which signals are pending at the first process.
#pragma once

#include "recorder/preload/region.h"

namespace wf::recorder {

constexpr int kControlSignal = 64;

// Called by the scribe. Notes signals that are pending and blocked, and sends the process the control signal.
void LookForOutsideSignals(Region* region);

}  // namespace wf::recorder
