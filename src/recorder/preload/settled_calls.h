// The calls that threads are in while a snapshot is taken.
//
// A thread draws the numbers of its actions before it writes their records, so another thread may already
// have written a consequence of them. So each thread is examined at a moment when everything it has drawn is
// in its ring or in `pending`. Once that has happened, and its ring was emptied afterwards, nothing that it
// had drawn before is missing.
#pragma once

#include <cstdint>

#include "recorder/preload/checkpoint.h"
#include "recorder/preload/chunk_file.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

// One per scribe. Large, so it is in static memory.
class SettledCalls {
 public:
  void Begin(uint32_t region_slots);
  enum class Threads { kRun, kEnded };
  // Examines the threads that were not seen at such a moment yet. True: all were seen.
  bool LookAtAll(Region* region, Threads threads);
  // Writes the calls that threads are still in, then the Settled record. For a file of slots: its checkpoint,
  // and where the slot ends. False: there is no room.
  struct InSlot {
    Checkpoint* checkpoint = nullptr;
    uint64_t end = ~uint64_t{0};
  };
  bool Write(Region* region, ChunkFile& file, const InSlot& in, uint64_t now_ns);

 private:
  struct SeenCall {
    uint64_t at_head;
    uint32_t thread;
    uint32_t settled;
    Inside record;
    Action action[kMaxActions];
  };
  bool Look(const Slot& slot, SeenCall& seen, Threads threads);

  uint32_t used_ = 0;
  SeenCall seen_[kSlots];
  uint8_t out_[64 * 1024];
};

}  // namespace wf::recorder
