// Data depth, as the rest of the library sees it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data {

// Called once, while the process has one thread. nullptr, or one line that says why the program cannot be
// recorded this way.
const char* Begin(TrackerKind tracker);
bool Running();
// The process id of the program if `pid` is one of its threads, else `pid`.
uint32_t ProgramOf(uint32_t pid);
// Runs `function` where a process may be forked without sharing its stack. Signals are blocked meanwhile.
long CallOnPrivateStack(long (*function)(void*), void* argument);
// Memory that all threads see and no tracker tracks; zeroed, never freed.
void* RecorderMemory(size_t size);

}  // namespace wf::recorder::data
