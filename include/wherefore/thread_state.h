// What this thread works on, in plain words of thread-local memory. The instrumentation's fast paths look here and
// nowhere else, so that a call site of a request that is not recorded costs a load and a branch; signal handlers may
// read it (wherefore_current_context). Private to the library: use RequestContext.
#pragma once

#include <cstdint>

#include "wherefore/api.h"

namespace wherefore::internal {

// Whether events go out as they come, or wait (Canopy §4.1).
enum class Hold : uint8_t {
  kNone = 0,
  kUntilDecision = 1,  // opportunistic: until the response says whether the trace was sampled
  kUntilEnd = 2,       // until the block that asked for it ends
};

struct ThreadState {
  uint64_t trace_hi;
  uint64_t trace_lo;
  uint64_t block;     // the innermost block
  uint64_t unit;      // the execution unit this thread is in for that trace; 0: none begun yet
  int64_t sequence;   // of the next event of this thread
  void* ring;         // client::EventRing of the last core that recorded here
  void* draft;        // client::SpanDraft of the innermost block, when exporting OTLP
  uint8_t flags;      // W3C trace flags
  uint8_t recording;  // 0: this request is not recorded; else its level of detail + 1
  Hold hold;
  // In a request, and what came with it has been looked at. While not, a block that begins must look.
  uint8_t settled;
  uint8_t writing;  // an event is being written: a signal handler must not write another
};

// initial-exec: one instruction to reach, and no allocation at the first touch, which a signal handler could not bear.
extern WHEREFORE_API __thread ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Whether something of this level of detail is recorded here and now.
inline bool Recording(uint8_t detail) {
  return __builtin_expect(thread_state.recording > detail, 0);
}

}  // namespace wherefore::internal
