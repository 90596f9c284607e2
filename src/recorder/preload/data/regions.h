// The list of what is mapped, which all processes of the program share, and its effect in this process. All of it is
// called with `shared->memory_lock` held, but by the first process before there is a second.
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

// The first that ends behind the address.
int FirstRegionAfter(uint64_t address);
void InsertRegion(int at, const Region& region);
// Cuts the region at the address, so that one begins there.
void SplitAt(uint64_t address);
// Makes neighbours that are one again one.
void JoinAround(uint64_t start, uint64_t end);
// Removes what is listed in the range and gives its backing back.
void DropRange(uint64_t start, uint64_t end);
// The bytes of the arena's file in the range are zero again.
void Punch(uint64_t offset, uint64_t length);
uint64_t TakeArena(uint64_t length);
// An offset behind the arena's part of the file, for memory that lives at other addresses; 0 if there is none left.
uint64_t TakeAnnex(uint64_t length);

// In this process: maps one, follows the list in a range, tells the others that the list changed there.
void MapHere(const Region& region);
void TrackFile(const Region& region);
void ApplyRange(uint64_t start, uint64_t end);
void Announce(uint64_t start, uint64_t end);
long Unmap(uint64_t start, uint64_t length);

}  // namespace wf::recorder::data
