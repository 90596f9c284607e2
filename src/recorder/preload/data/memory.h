// The program's address space: what is mapped where, the same in all its processes.
#pragma once

#include <cstdint>

#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

// Called once, on the handler's stack: turns every writable private page of the process into a shared one.
// nullptr, or what failed.
const char* ShareMemory();

// The system calls, with the kernel's results.
long MapCall(uint64_t address, uint64_t length, int protection, int flags, int fd, uint64_t offset);
long UnmapCall(uint64_t address, uint64_t length);
long ProtectCall(uint64_t address, uint64_t length, int protection);
long RemapCall(uint64_t address, uint64_t old_length, uint64_t new_length, int flags,
               uint64_t new_address);
long BreakCall(uint64_t address);
long AdviseCall(uint64_t address, uint64_t length, int advice);

// Applies what other processes mapped to this one. Returns the number of changes applied.
int SyncMemory();
// After clone: nothing is accessible until it is touched.
void MapRegionsOfNewProcess();
const Region* FindRegion(uint64_t address);
// The same page at an address where touches are not recorded; 0 if there is none.
uint64_t Untracked(uint64_t address);

// Private copies of all shared memory, made by the parent and adopted by the child.
struct MemoryCopy {
  int arena_fd;
  int recorder_fd;
};
long CopyMemory(MemoryCopy* copy);
void AdoptCopy(const MemoryCopy& copy);
// Our descriptors are above all that the program can have.
int MoveDescriptor(int fd);

}  // namespace wf::recorder::data
