// The rings that carry branches to the scribe, one per slot of the region, in separate memory: only control
// depth needs them.
#pragma once

#include <cstdint>

#include "recorder/format/branch_ring.h"
#include "recorder/preload/region.h"

namespace wf::recorder {

struct BranchRings {
  std::atomic<uint16_t> source;  // BranchSource
  BranchRing ring[kSlots];
  // The bytes follow.
};
constexpr uint64_t kBranchBytesOffset = (sizeof(BranchRings) + 4095) / 4096 * 4096;
constexpr uint64_t kBranchRingsSize = kBranchBytesOffset + kSlots * kBranchRingSize;

extern BranchRings* g_branch_rings;  // null: not at control depth
extern uint16_t g_branch_source;     // once chosen; the rings of a forked child have the same

// Maps new rings in shared memory, replacing a parent's. False: no memory.
bool MapBranchRings();

inline uint8_t* BranchBytesOf(BranchRings* rings, uint32_t slot) {
  return reinterpret_cast<uint8_t*>(rings) + kBranchBytesOffset + slot * kBranchRingSize;
}
inline uint32_t NumberOf(const Region* region, const Slot* slot) {
  return static_cast<uint32_t>(slot - region->slots);
}
inline ScribeBell BellOf(Region* region) {
  return {&region->kick, &region->scribe_sleeps, &region->broken};
}

}  // namespace wf::recorder
