// The scribe: a process of its own that empties the rings of the recorded one into the file. It outlives a program that
// is killed, and then writes what was left and how each thread ended.
#pragma once

#include "recorder/preload/region.h"

namespace wf::recorder {

// Wakes it, if it sleeps: a ring is half full, or the process is about to end.
void KickScribe(Region* region);

// Forks it, twice, so that it is nobody's child. `file` is the open recording behind its head, which is mapped at
// `head`; the caller may close it afterwards. False: no process could be made.
bool StartScribe(Region* region, int file, SharedHead* head);

}  // namespace wf::recorder
