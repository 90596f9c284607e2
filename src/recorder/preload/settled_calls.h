// The calls that threads are in while a snapshot is taken.
//
// A thread draws the numbers of its actions before it writes them down, so that another may have written what came of
// them already. So each thread is looked at in a moment when all that it has drawn stands in its ring or is told by
// `pending`; once it was, and its ring was emptied after that, nothing is missing that it had drawn before.
#pragma once

#include <cstdint>

#include "recorder/preload/checkpoint.h"
#include "recorder/preload/chunk_file.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

// One per scribe. Large: lives in static memory.
class SettledCalls {
 public:
  void Begin(uint32_t region_slots);
  enum class Threads { kRun, kEnded };
  // At those that were not seen in such a moment yet. True: all were.
  bool LookAtAll(Region* region, Threads threads);
  // The calls that threads are still in, then the Settled record. Of a file of slots: its checkpoint, and where the slot
  // ends. False: there is no room.
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
