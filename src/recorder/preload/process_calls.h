// Processes that the recorded one creates: fork, vfork, spawn and exec.
#pragma once

#include <cstdint>

namespace wf::recorder {

// Registers with libc the functions that run around every fork, including libc's own forks (daemon, forkpty).
void WatchForks();

// The number of this process if an earlier image of it was recorded as a child; a new one otherwise.
uint32_t FindOwnNumber();

// Called at the end of a thread: frees what its exec calls allocated.
void FreeExecSpace();

}  // namespace wf::recorder
