// pthread_once cuts when it returns, but not if it ran nothing and added nothing to the clock. Only the
// clocks show whether it added something, so the recorder marks such cuts (kIfItAdds) and the reader removes
// those that did not: the two sub-computations become one, and later ones of the thread are renumbered.
#pragma once

#include "recorder/reader/recording.h"

namespace wf::recorder {

void LeaveOutEmptyCuts(Recording& recording);

}  // namespace wf::recorder
