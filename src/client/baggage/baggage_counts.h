// What happened to baggage in this process, since it started.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace wherefore::client {

struct BaggageCounts {
  std::atomic<uint64_t> rejected{0};    // received but malformed
  std::atomic<uint64_t> cut{0};         // received without its second member
  std::atomic<uint64_t> overflowed{0};  // queries marked, in a request, because of their limits
  std::atomic<uint64_t> unfitting{0};   // queries marked because the header had no room
};
BaggageCounts& Counts();

// A query was marked as overflowed in a request.
void NoteOverflow(uint64_t query);
// Overflow marks by query since the last call, for reports.
std::vector<std::pair<uint64_t, uint64_t>> TakeOverflowMarks();

}  // namespace wherefore::client
