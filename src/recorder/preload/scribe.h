// The scribe: a separate process that empties the rings of the recorded one into the file. It outlives a
// killed program, and then writes the rest and how each thread ended.
#pragma once

#include "recorder/preload/region.h"

namespace wf::recorder {

// Wakes it if it sleeps: a ring is half full, or the process is about to end.
void KickScribe(Region* region);

// Forks it, twice, so that it is not a child of the program. `file` is the open recording after its head,
// which is mapped at `head`; the caller may close it afterwards. False: no process could be created.
bool StartScribe(Region* region, int file, SharedHead* head);

}  // namespace wf::recorder
