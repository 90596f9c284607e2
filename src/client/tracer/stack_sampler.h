// Samples the stacks of threads that record: the drain thread sends SIGPROF to each of them at an interval,
// and the handler writes the frames into the thread's own buffer, as a point in its current block. Off by
// default. A program that has its own SIGPROF handler keeps it, and gets no samples.
#pragma once

#include <chrono>

namespace wherefore::client {

// False when the program uses SIGPROF.
bool StartStackSampling(std::chrono::microseconds interval);
void StopStackSampling();  // the handler stays, and does nothing: a signal may still be on its way

// 0: off.
std::chrono::microseconds StackSamplingInterval();
void RequestStackSample(int64_t thread_id);

}  // namespace wherefore::client
