// Room in the ring that a thread writes its records to. Used by whoever writes for that thread: itself, or the emulator
// it runs in.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "recorder/format/records.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

// The rest of the ring, which is too short for the next record.
inline void SkipToStart(Slot* slot, uint64_t head) {
  const uint64_t left = kRingSize - (head & (kRingSize - 1));
  RecordHead skip = {static_cast<RecordKind>(0), 0, static_cast<uint32_t>(left)};
  std::memcpy(slot->ring + (head & (kRingSize - 1)), &skip, sizeof(skip));
  slot->head.store(head + left, std::memory_order_release);
}

// Where a record of this size would end, behind the rest of the ring if it does not fit there.
inline uint64_t EndOf(uint64_t head, uint64_t size) {
  const uint64_t offset = head & (kRingSize - 1);
  return offset + size > kRingSize ? head + kRingSize - offset + size : head + size;
}

// A record that grows, behind the head, until another one is to be written: its thread publishes it then, or the scribe
// when there is no thread any more. Whoever opens one sets room_end to the head, so that the next record finds no room
// before it has looked.
constexpr uint32_t kOpenRecord = 1024;  // the most that one takes
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
