// Processes that the recorded one makes: fork, vfork, spawn and exec.
#pragma once

#include <cstdint>

namespace wf::recorder {

// Registers with libc what runs around every fork, its own ones (daemon, forkpty) included.
void WatchForks();

// The number of this process if an earlier image of it was recorded as a child; a new one otherwise.
uint32_t FindOwnNumber();

// At the end of a thread: what its exec calls took.
void FreeExecSpace();

}  // namespace wf::recorder
