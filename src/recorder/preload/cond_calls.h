// What the condition variables of POSIX and C11 have in common.
#pragma once

#include <errno.h>

#include "recorder/preload/recording.h"

namespace wf::recorder {

// Results of a wait after which the thread holds the mutex again.
struct WaitOutcome {
  int timed_out;
  int owner_dead;
};
constexpr WaitOutcome kPosixOutcome = {ETIMEDOUT, EOWNERDEAD};

int RecordCondWait(Slot* slot, Op op, uint64_t site, const void* condition, const void* mutex,
                   const WaitOutcome& outcome, int (*wait)(void*), void* argument);
int RecordWake(Slot* slot, Op op, uint64_t site, const void* condition, int (*wake)(void*));

}  // namespace wf::recorder
