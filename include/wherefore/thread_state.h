// What this thread works on, in plain thread-local variables. The fast paths of instrumentation read only
// these, so a call site in a request that is not recorded costs a load and a branch. Signal handlers may read
// them (wherefore_current_context). Private to the library: use RequestContext.
#pragma once

#include <cstdint>

#include "wherefore/api.h"

namespace wherefore::internal {

// Whether events are sent as they are emitted, or held back (Canopy §4.1).
enum class Hold : uint8_t {
  kNone = 0,
  kUntilDecision = 1,  // opportunistic: until the response says whether the trace was sampled
  kUntilEnd = 2,       // until the block that requested it ends
};

struct ThreadState {
  uint64_t trace_hi;
  uint64_t trace_lo;
  uint64_t block;     // the innermost block
  uint64_t unit;      // the execution unit of this thread in that trace; 0: none has begun
  int64_t sequence;   // of the next event of this thread
  void* ring;         // client::EventRing of the last core that recorded here
  void* draft;        // client::SpanDraft of the innermost block, when exporting OTLP
  uint8_t flags;      // W3C trace flags
  uint8_t recording;  // 0: this request is not recorded; else its level of detail + 1
  Hold hold;
  // Set in a request whose received context has been evaluated. While it is 0, a block that begins must
  // evaluate it.
  uint8_t settled;
  uint8_t writing;  // an event is being written: a signal handler must not write another
};

// initial-exec: one instruction reaches it, and the first access does not allocate, which a signal handler
// could not do.
extern WHEREFORE_API __thread ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Whether an event of this level of detail is recorded now.
inline bool Recording(uint8_t detail) {
  return __builtin_expect(thread_state.recording > detail, 0);
}

}  // namespace wherefore::internal
