// What a slot of the file needs before its own records, so that it can be read without earlier slots: which
// threads are alive and where each of them is, and the facts of each object that the slot mentions.
//
// Memory is bounded: a thread that has ended is dropped; the 65,536 objects used last are known, and a slot
// that mentions another one has no facts for it (the reader counts those).
#pragma once

#include <cstdint>

#include "recorder/preload/chunk_file.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

// One per scribe. Large, so it is in static memory.
class Checkpoint {
 public:
  // Touches all of its memory at the start, so that it does not seem to grow.
  void Prepare();
  // A slot of the file with this number begins: writes the threads that are alive.
  void Begin(uint32_t number, uint32_t region_slots, ChunkFile& file);
  // Records of the thread in this slot of the region are about to be written: notes what they change, and
  // writes the facts of objects that this slot of the file has not mentioned yet.
  void Observe(uint32_t region_slot, const uint8_t* records, uint32_t size, ChunkFile& file);
  // The same for a call that a thread is in.
  void Observe(const Inside& call, const Action* actions, ChunkFile& file);
  void ThreadGone(uint32_t region_slot) { threads_[region_slot].lives = 0; }

 private:
  struct ThreadState {
    ThreadBase base;
    char name[24];
    uint32_t lives;
    uint32_t name_size;
  };
  struct KnownObject {
    Object facts;
    uint32_t mentioned;  // number of the last slot that has its facts
    uint32_t unused;
  };
  static constexpr uint32_t kSets = 1 << 14, kWays = 4;
  static constexpr uint32_t kBatch = 128;

  void Learn(const Object& object);
  void Mention(uint32_t id, ChunkFile& file);
  void MentionActions(const uint8_t* actions, uint32_t count, uint32_t room, ChunkFile& file);
  void Name(const ThreadName& record, const char* text);
  void WriteBatch(ChunkFile& file);

  uint32_t number_ = 0;
  uint32_t region_slots_ = 0;  // no slot at or above this was ever used
  ThreadState threads_[kSlots];
  KnownObject objects_[kSets][kWays];
  char program_[248];
  uint32_t program_size_ = 0;
  uint32_t host_size_ = 0;
  alignas(8) uint8_t host_[512];  // its record
  Object batch_[kBatch];
  uint32_t batched_ = 0;
};

}  // namespace wf::recorder
