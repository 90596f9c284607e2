// Room in the ring that a thread writes its records to. Used by the code that writes for that thread: the
// thread itself, or its emulator.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/format/records.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

// Skips the rest of the ring, which is too short for the next record.
inline void SkipToStart(Slot* slot, uint64_t head) {
  const uint64_t left = kRingSize - (head & (kRingSize - 1));
  RecordHead skip = {static_cast<RecordKind>(0), 0, static_cast<uint32_t>(left)};
  std::memcpy(slot->ring + (head & (kRingSize - 1)), &skip, sizeof(skip));
  slot->head.store(head + left, std::memory_order_release);
}

// The end of a record of this size; it goes to the start of the ring if it does not fit into the rest.
inline uint64_t EndOf(uint64_t head, uint64_t size) {
  const uint64_t offset = head & (kRingSize - 1);
  return offset + size > kRingSize ? head + kRingSize - offset + size : head + size;
}

// A record after the head that grows until another one is to be written. Then its thread publishes it, or the
// scribe if the thread has ended. The code that opens one sets room_end to the head, so that the next record
// finds no room and checks.
constexpr uint32_t kOpenRecord = 1024;  // max size of one
inline void CloseOpenRecord(Slot* slot, const uint8_t* ring) {
  if (slot->open_record.load(std::memory_order_acquire) == 0) return;
  const uint64_t head = slot->head.load(std::memory_order_relaxed);
  RecordHead record;
  std::memcpy(&record, ring + (head & (kRingSize - 1)), sizeof(record));
  slot->open_record.store(0, std::memory_order_relaxed);
  slot->head.store(head + record.size, std::memory_order_release);
  // It says nothing about the call that the thread may be in.
  uint64_t expected = head;
  slot->pending.at_head.compare_exchange_strong(expected, head + record.size,
                                                std::memory_order_acq_rel);
}

inline bool HasRoom(const Slot* slot, uint64_t size) {
  return EndOf(slot->head.load(std::memory_order_relaxed), size) -
             slot->tail.load(std::memory_order_acquire) <=
         kRingSize;
}

}  // namespace wf::recorder
