// Why a trace goes to the delayed queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wf {

// Each is counted apart. The first two are Canopy's.
enum class DelayReason : uint8_t {
  kEventsGone,   // no longer in the cache when its time came
  kQueueFull,    // the owner's isolation queue was full
  kBeforeStart,  // began before this tailer did, which therefore may not have all of it
  kRecovered,    // was being worked on when the process before this one ended
  kWriteFailed,  // its rows could not be written
};
constexpr size_t kDelayReasons = 5;
std::string_view DelayReasonName(DelayReason reason);

}  // namespace wf
