// A program that runs under `wherefore record` reports to the recorder which request each thread works for,
// so that waits for locks become part of the request's trace (docs/use/recording.md). Without the recorder
// this is a null pointer.
#pragma once

#include <cstdint>

#include "wherefore/thread_state.h"

namespace wherefore::client {

using RecordTrace = void (*)(uint64_t trace_high, uint64_t trace_low, uint64_t span);
extern const RecordTrace record_trace;

// Called whenever this thread switches to another block.
inline void TellRecorder(const internal::ThreadState& state) {
  if (__builtin_expect(record_trace != nullptr, 0))
    record_trace(state.trace_hi, state.trace_lo, state.block);
}

}  // namespace wherefore::client
