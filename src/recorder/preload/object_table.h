// The synchronization objects of the program by address, each with the counter that its sequence numbers are
// drawn from. Lock-free: an entry is claimed by one compare-and-swap on its key and never removed; when an
// object is destroyed, the next one at that address uses its entry.
//
// An entry has a cache line to itself, so that threads on different locks do not slow each other down.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/format/records.h"

namespace wf::recorder {

struct alignas(64) ObjectEntry {
  std::atomic<uint64_t> key;             // kind << 56 | address; 0: free
  std::atomic<uint64_t> sequence;        // last one drawn
  std::atomic<uint32_t> id;              // 0: destroyed, or not used yet
  std::atomic<uint32_t> held_by_writer;  // rwlock: written while held for writing
  std::atomic<uint64_t> thread;  // kThread: 1 + number of the last thread with this pthread_t

  uint64_t Draw() { return sequence.fetch_add(1, std::memory_order_acq_rel) + 1; }
};

// A million addresses: 64 MB if all of them are used, none before. Further objects are counted as lost.
constexpr uint32_t kObjectBits = 20;
constexpr uint32_t kObjectSlots = 1u << kObjectBits;
constexpr uint64_t kObjectTableSize = uint64_t{kObjectSlots} * sizeof(ObjectEntry);

extern ObjectEntry* g_object_table;

inline uint64_t ObjectKey(uintptr_t address, ObjectKind kind) {
  return (uint64_t{static_cast<uint16_t>(kind)} << 56) | (address & 0x00ffffffffffffff);
}

// Null when the table is full. Neighbouring objects have neighbouring entries, so that few pages are touched:
// the page of the address is hashed, the offset within it kept.
enum class IfMissing { kClaim, kNull };
inline ObjectEntry* FindEntry(uintptr_t address, ObjectKind kind,
                              IfMissing if_missing = IfMissing::kClaim) {
  const uint64_t key = ObjectKey(address, kind);
  const uint64_t page = (address >> 9) * 0x9e3779b97f4a7c15ull >> (64 - (kObjectBits - 6));
  uint32_t place = static_cast<uint32_t>(page << 6 | ((address >> 3) & 63));
  for (uint32_t probes = 0; probes < 1024; ++probes) {
    ObjectEntry* entry = &g_object_table[place];
    uint64_t found = entry->key.load(std::memory_order_acquire);
    if (found == key) return entry;
    if (found == 0 && if_missing == IfMissing::kNull) return nullptr;
    if (found == 0 &&
        (entry->key.compare_exchange_strong(found, key, std::memory_order_acq_rel) || found == key))
      return entry;
    place = (place + 1) & (kObjectSlots - 1);
  }
  return nullptr;
}

}  // namespace wf::recorder
