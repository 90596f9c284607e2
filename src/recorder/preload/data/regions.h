// The list of mappings, which all processes of the program share, and its effect in this process. Call
// everything here with `shared->memory_lock` held, except in the first process before there is a second.
#pragma once

#include <cstdint>

#include "recorder/preload/data/extents.h"
#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

class Held {
 public:
  explicit Held(HandlerLock* lock) : lock_(lock) { lock_->Take(); }
  ~Held() { lock_->Give(); }

 private:
  HandlerLock* lock_;
};

inline uint64_t Down(uint64_t n) { return n & ~(kPage - 1); }
inline uint64_t Up(uint64_t n) { return (n + kPage - 1) & ~(kPage - 1); }
inline bool Failed(long result) { return result < 0 && result > -4096; }
inline bool InArena(uint64_t address) {
  return address >= shared->arena && address < shared->arena + kArenaSize;
}

// The first one that ends after the address.
int FirstRegionAfter(uint64_t address);
void InsertRegion(int at, const Region& region);
// Splits the region at the address, so that one begins there.
void SplitAt(uint64_t address);
// Joins neighbours that can be one region again.
void JoinAround(uint64_t start, uint64_t end);
// Removes what is listed in the range and frees its backing.
void DropRange(uint64_t start, uint64_t end);
// Makes the bytes of the arena's file in the range zero again.
void Punch(uint64_t offset, uint64_t length);
uint64_t TakeArena(uint64_t length);
// An offset after the arena's part of the file, for memory at other addresses; 0 if there is none left.
uint64_t TakeAnnex(uint64_t length);

// In this process: maps one, applies the list in a range, notifies the others that the list changed there.
void MapHere(const Region& region);
void TrackFile(const Region& region);
void ApplyRange(uint64_t start, uint64_t end);
void Announce(uint64_t start, uint64_t end);
long Unmap(uint64_t start, uint64_t length);

}  // namespace wf::recorder::data
