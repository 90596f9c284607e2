// The events of a Memory record: memory that was allocated or released. Like records.h plain C++17 without libraries,
// because it is written inside the recorded program.
//
// An event is a list of varints: the time, with the lowest bit set for a release; the address; for an
// allocation also its size and the address after the call. Times, addresses and call sites are zigzag coded
// differences to the previous event, from 0 in each record. So an event takes 6 to 11 bytes, where a
// structure would take 40.
#pragma once

#include <cstddef>
#include <cstdint>

#include "recorder/format/branches.h"

namespace wf::recorder {

struct MemoryEvent {
  uint64_t time_ns = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t site = 0;
  bool release = false;
};
constexpr size_t kMaxMemoryEvent = 4 * kMaxVarint;

// `last` is the previous event and becomes this one; a release does not change its call site.
inline uint8_t* PutMemoryEvent(uint8_t* out, const MemoryEvent& event, MemoryEvent* last) {
  const auto difference = [](uint64_t a, uint64_t b) {
    return ZigZag(static_cast<int64_t>(a - b));
  };
  out = PutVarint(out, difference(event.time_ns, last->time_ns) << 1 | (event.release ? 1 : 0));
  out = PutVarint(out, difference(event.address, last->address));
  if (!event.release) {
    out = PutVarint(out, event.size);
    out = PutVarint(out, difference(event.site, last->site));
    last->site = event.site;
  }
  last->time_ns = event.time_ns;
  last->address = event.address;
  return out;
}

}  // namespace wf::recorder
