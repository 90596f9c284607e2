// What every call into the library looks at and hardly ever changes, in one cache line: the host's own work pushes lines
// out between two calls, so one is cheaper than five. Each flag is explained, and set, where it is named. Initialised
// without code, because threads may come by before static objects are made.
#pragma once

#include <atomic>
#include <cstdint>

namespace wherefore::client {

struct WovenAdvice;

struct alignas(64) HotFlags {
  enum class Exchange : uint8_t { kNotKnown, kOpen, kEdge };
  std::atomic<bool> any_kernel_tuples{false};           // kernel_tuples.h
  std::atomic<Exchange> exchange{Exchange::kNotKnown};  // thread_baggage.h
  std::atomic<uint32_t> fork_generation{1};             // block_id.h
  std::atomic<uint32_t> allowed_generation{0};          // advice_runner.cc
  std::atomic<const WovenAdvice*> linking{nullptr};     // advice_runner.h
};
extern HotFlags hot_flags;

}  // namespace wherefore::client
