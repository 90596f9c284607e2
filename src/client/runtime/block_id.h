// Random ids for traces and blocks. Each thread has its own generator, seeded by the kernel.
#pragma once

#include <cstdint>

#include "client/runtime/hot_flags.h"
#include "wherefore/context.h"

namespace wherefore::client {

TraceId NewTraceId();
[[gnu::hot]] BlockId NewBlockId();

// Grows in each child of fork(), so that it neither repeats its parent's ids nor touches its locks.
[[gnu::hot]] uint32_t ForkGeneration();
// The same for callers that have called the function above before: one load.
inline uint32_t LastForkGeneration() {
  return hot_flags.fork_generation.load(std::memory_order_relaxed);
}

}  // namespace wherefore::client
