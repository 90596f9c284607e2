// Events that the kernel's programs saw on threads of a process linked with libwherefore, in memory that both have: the
// weaver writes it (its eBPF programs do), libwherefore reads it, and nobody else sees it. docs/use/weaving.md has the
// whole of the hand-over; the two sides may be of different versions.
//
// The memory is an array of HandedThread, each followed by its ring of records. A record is written by a program that
// runs on the very thread which reads it, so that nothing has to be locked: the thread stands still while one is
// written. What the process itself writes, `taken`, the programs take for a number and no more.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace wf::advice {

inline constexpr uint32_t kHandedVersion = 1;

// As many threads as may pack at the same time; each has one of the kHandedTries places from its number on.
inline constexpr uint32_t kHandedThreads = 128, kHandedTries = 8;
static_assert((kHandedThreads & (kHandedThreads - 1)) == 0);
inline constexpr uint32_t kHandedRingBytes = 32 << 10;

struct HandedThread {
  uint64_t owner = 0;  // the thread, as its own process numbers it (gettid); 0: nobody's
  uint64_t head = 0;   // records that were written, ever
  uint64_t taken = 0;  // ... and read; written by the process
  uint64_t lost = 0;   // events for which the ring had no room, ever
  uint64_t reserved[4] = {};
};
static_assert(sizeof(HandedThread) == 64);
inline constexpr uint32_t kHandedBytes = sizeof(HandedThread) + kHandedRingBytes;

// Where a record has what libwherefore needs; its variables follow as the place's description says.
inline constexpr uint32_t kHandedTimeAt = 0;    // Unix ns, eight bytes
inline constexpr uint32_t kHandedPlaceAt = 24;  // of those that were described, four bytes
inline constexpr uint32_t kHandedNullsAt = 56;  // bit i: variable i is null, eight bytes
inline constexpr uint32_t kHandedVariablesAt = 64;

// The name of the socket, in the abstract namespace, at which the weaver of a query passes the memory on.
// Query ids are random and never used again, so only processes that have the query can find the socket.
inline std::string HandedSocketName(uint64_t query) {
  char name[48];
  std::snprintf(name, sizeof name, "wherefore-tuples-%016llx",
                static_cast<unsigned long long>(query));
  return name;
}

}  // namespace wf::advice
