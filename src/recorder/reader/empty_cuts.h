// pthread_once cuts when it returns, but not if it ran nothing and added nothing to the clock. Whether it added something
// only the clocks can tell, so the recorder marks such cuts (kIfItAdds) and the reader leaves out those that did not:
// what they parted becomes one sub-computation, and the later ones of the thread count on from it.
#pragma once

#include "recorder/reader/recording.h"

namespace wf::recorder {

void LeaveOutEmptyCuts(Recording& recording);

}  // namespace wf::recorder
