// How the memory of threads-as-processes stays that of threads.
//
// Everything the program can write lies in one file in memory, the arena, mapped shared: anonymous mappings are ranges
// of the arena at the arena's own addresses, so the many small ones (stacks, malloc's arenas) need no system call in
// any process. Memory at addresses that are not ours to choose (globals, the break, the first stack, MAP_FIXED) takes
// a range of the arena's file and maps it there; `regions` lists these, and mappings of files. A change of that list
// gets a version; a process that is behind applies the changes when a sub-computation begins, when it faults and when
// a call fails with EFAULT.
//
// Limits: memory given back with munmap inside the arena reads as zero instead of faulting; PROT_NONE reservations are
// accessible until mprotect says PROT_NONE of a range that was accessible.
#include "recorder/preload/data/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/regions.h"
#include "recorder/preload/data/text.h"
#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data {
namespace {

long MapMemory(uint64_t address, uint64_t length, int protection, int flags) {
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (!fixed) {
    const uint64_t start = TakeArena(length);
    if (start == 0) return -ENOMEM;
    if ((protection & PROT_EXEC) != 0) {  // everything else in the arena may be read and written
      SplitAt(start);
      SplitAt(start + length);
      shared->regions[FirstRegionAfter(start)].protection = static_cast<uint8_t>(protection);
      ForgetRange(start, start + length);
      Kernel(SYS_mprotect, static_cast<long>(start), static_cast<long>(length), PROT_NONE);
      Announce(start, start + length);
    }
    return static_cast<long>(start);
  }
  if (InArena(address)) {
    if ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE) return -EEXIST;
    KeepTouched(address, address + length);
    Punch(address - shared->arena, length);
    TakeRange(shared->free, &shared->free_count, address, address + length);
    if (address + length > shared->arena_high) shared->arena_high = address + length;
    return static_cast<long>(address);
  }
  if ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE) {
    const long tried = Kernel(SYS_mmap, static_cast<long>(address), static_cast<long>(length),
                              PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (Failed(tried)) return tried;
  }
  const uint64_t backing = TakeAnnex(length);
  if (backing == 0) return -ENOMEM;
  DropRange(address, address + length);
  TakeRange(shared->file_free, &shared->file_free_count, address, address + length);
  const Region region = {address,
                         address + length,
                         backing,
                         -1,
                         static_cast<uint8_t>(protection),
                         RegionKind::kMemory,
                         0,
                         0};
  InsertRegion(FirstRegionAfter(address), region);
  ForgetRange(address, address + length);
  MapHere(region);
  Announce(address, address + length);
  return static_cast<long>(address);
}

long FileAddress(uint64_t address, uint64_t length, int flags) {
  if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0)
    return static_cast<long>(TakeExtent(shared->file_free, &shared->file_free_count, length));
  TakeRange(shared->file_free, &shared->file_free_count, address, address + length);
  return static_cast<long>(address);
}

// Fills private memory with the bytes of a file.
void ReadInto(uint64_t offset_in_arena, uint64_t length, int fd, uint64_t offset) {
  uint64_t done = 0;
  while (done < length) {
    const long n =
        Kernel(SYS_pread64, fd, static_cast<long>(shared->alias + offset_in_arena + done),
               static_cast<long>(length - done), static_cast<long>(offset + done));
    if (n <= 0) return;
    done += static_cast<uint64_t>(n);
  }
}

long MapFile(uint64_t address, uint64_t length, int protection, int flags, int fd,
             uint64_t offset) {
  const bool is_private = (flags & MAP_TYPE) == MAP_PRIVATE;
  if (is_private && (protection & PROT_WRITE) != 0) {
    const long mode = Kernel(SYS_fcntl, fd, F_GETFL);
    if (mode < 0) return mode;
    if ((mode & O_ACCMODE) == O_WRONLY) return -EACCES;
    const long start = MapMemory(address, length, protection, flags & ~MAP_TYPE);
    if (Failed(start)) return start;
    const Region* region = FindRegion(static_cast<uint64_t>(start));
    ReadInto(region->offset + (static_cast<uint64_t>(start) - region->start), length, fd, offset);
    return start;
  }
  const long chosen = FileAddress(address, length, flags);
  if (chosen == 0) return -ENOMEM;
  const int how =
      (flags & ~(MAP_FIXED | MAP_FIXED_NOREPLACE)) |
      ((flags & MAP_FIXED_NOREPLACE) == MAP_FIXED_NOREPLACE ? MAP_FIXED_NOREPLACE : MAP_FIXED);
  const auto start = static_cast<uint64_t>(chosen);
  // userfaultfd rejects a shared mapping that may never be written; a private one reads the same bytes.
  const bool read_only = !is_private && (Kernel(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDONLY &&
                         (protection & PROT_WRITE) == 0;
  const long result =
      Kernel(SYS_mmap, chosen, static_cast<long>(length), protection,
             read_only ? (how & ~MAP_TYPE) | MAP_PRIVATE : how, fd, static_cast<long>(offset));
  if (Failed(result)) {
    if ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) == 0)
      GiveExtent(shared->file_free, &shared->file_free_count, start, start + length);
    return result;
  }
  DropRange(start, start + length);
  TakeRange(shared->file_free, &shared->file_free_count, start, start + length);
  const int kept = static_cast<int>(Kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, shared->first_own_fd));
  if (kept < 0) GiveUp("no descriptor is left for a mapped file");
  const Region region = {start,
                         start + length,
                         offset,
                         kept,
                         static_cast<uint8_t>(protection),
                         RegionKind::kFile,
                         static_cast<uint8_t>(is_private || read_only ? 1 : 0),
                         0};
  InsertRegion(FirstRegionAfter(start), region);
  ForgetRange(start, start + length);
  TrackFile(region);
  Announce(start, start + length);
  return chosen;
}

long MapSharedMemory(uint64_t address, uint64_t length, int protection, int flags) {
  const uint64_t offset = shared->shared_high;
  shared->shared_high += length;
  Kernel(SYS_ftruncate, shared->shared_fd, static_cast<long>(shared->shared_high));
  const long chosen = FileAddress(address, length, flags);
  if (chosen == 0) return -ENOMEM;
  const auto start = static_cast<uint64_t>(chosen);
  DropRange(start, start + length);
  TakeRange(shared->file_free, &shared->file_free_count, start, start + length);
  const Region region = {
      start, start + length, offset, -1, static_cast<uint8_t>(protection), RegionKind::kShared, 0,
      0};
  InsertRegion(FirstRegionAfter(start), region);
  ForgetRange(start, start + length);
  MapHere(region);
  Announce(start, start + length);
  return chosen;
}

}  // namespace

long MapCall(uint64_t address, uint64_t length, int protection, int flags, int fd,
             uint64_t offset) {
  if (length == 0) return -EINVAL;
  length = Up(length);
  if (length == 0 || length > kArenaSize) return -ENOMEM;
  const bool fixed = (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  if (fixed && address % kPage != 0) return -EINVAL;
  Held held(&shared->memory_lock);
  if ((flags & MAP_ANONYMOUS) == 0) return MapFile(address, length, protection, flags, fd, offset);
  const int type = flags & MAP_TYPE;
  if (type == MAP_SHARED || type == MAP_SHARED_VALIDATE)
    return MapSharedMemory(address, length, protection, flags);
  if (type != MAP_PRIVATE) return -EINVAL;
  return MapMemory(address, length, protection, flags);
}

long UnmapCall(uint64_t address, uint64_t length) {
  if (address % kPage != 0 || length == 0) return -EINVAL;
  length = Up(length);
  Held held(&shared->memory_lock);
  if (InArena(address)) {
    KeepTouched(address, address + length);
    Punch(address - shared->arena, length);
    GiveExtent(shared->free, &shared->free_count, address, address + length);
    const Region* region = FindRegion(address);
    const bool plain = region != nullptr && region->protection == (PROT_READ | PROT_WRITE) &&
                       region->end >= address + length;
    if (plain) return 0;
    SplitAt(address);
    SplitAt(address + length);
    for (int i = FirstRegionAfter(address);
         i < shared->regions_count && shared->regions[i].start < address + length; ++i)
      shared->regions[i].protection = PROT_READ | PROT_WRITE;
    JoinAround(address, address + length);
    ApplyRange(address, address + length);
    Announce(address, address + length);
    return 0;
  }
  DropRange(address, address + length);
  ForgetRange(address, address + length);
  const long result = Unmap(address, length);
  Announce(address, address + length);
  return result;
}

long ProtectCall(uint64_t address, uint64_t length, int protection) {
  if (address % kPage != 0) return -EINVAL;
  if (length == 0) return 0;
  length = Up(length);
  const uint64_t end = address + length;
  const int wanted = protection & (PROT_READ | PROT_WRITE | PROT_EXEC);
  Held held(&shared->memory_lock);
  const Region* region = FindRegion(address);
  if (region ==
      nullptr)  // text and constants of what was loaded before us; they are private and equal everywhere
    return Kernel(SYS_mprotect, static_cast<long>(address), static_cast<long>(length), protection);
  if (region->end >= end && region->protection == wanted) return 0;
  if (region->kind == RegionKind::kFile && (wanted & PROT_WRITE) != 0 && region->map_private != 0) {
    // It becomes memory: writes must be visible to all processes of this program, and to no other.
    const Region was = *region;
    const uint64_t stop = end < was.end ? end : was.end;
    const uint64_t backing = TakeAnnex(stop - address);
    if (backing == 0) return -ENOMEM;
    const int fd =
        static_cast<int>(Kernel(SYS_fcntl, was.fd, F_DUPFD_CLOEXEC, shared->first_own_fd));
    ReadInto(backing, stop - address, fd, was.offset + (address - was.start));
    Kernel(SYS_close, fd);
    DropRange(address, stop);
    TakeRange(shared->file_free, &shared->file_free_count, address, stop);
    InsertRegion(
        FirstRegionAfter(address),
        {address, stop, backing, -1, static_cast<uint8_t>(wanted), RegionKind::kMemory, 0, 0});
    ApplyRange(address, stop);
    Announce(address, stop);
    return 0;
  }
  SplitAt(address);
  SplitAt(end);
  bool files = false;
  for (int i = FirstRegionAfter(address);
       i < shared->regions_count && shared->regions[i].start < end; ++i) {
    shared->regions[i].protection = static_cast<uint8_t>(wanted);
    files |= shared->regions[i].kind == RegionKind::kFile;
  }
  JoinAround(address, end);
  if (files) {
    ForgetRange(address, end);
    const long result =
        Kernel(SYS_mprotect, static_cast<long>(address), static_cast<long>(length), protection);
    if (result < 0) return result;
    for (int i = FirstRegionAfter(address);
         i < shared->regions_count && shared->regions[i].start < end; ++i)
      TrackFile(shared->regions[i]);
  } else {
    ForgetRange(address, end);
    Kernel(SYS_mprotect, static_cast<long>(address), static_cast<long>(length), PROT_NONE);
  }
  Announce(address, end);
  return 0;
}

long RemapCall(uint64_t address, uint64_t old_length, uint64_t new_length, int flags,
               uint64_t new_address) {
  old_length = Up(old_length);
  new_length = Up(new_length);
  if (address % kPage != 0 || new_length == 0 || old_length == 0) return -EINVAL;
  if ((flags & ~MREMAP_MAYMOVE) != 0 || new_address != 0) {
    if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) return -EINVAL;
  }
  Region was;
  {
    Held held(&shared->memory_lock);
    const Region* region = FindRegion(address);
    if (region == nullptr) return -EFAULT;
    was = *region;
  }
  if (was.kind == RegionKind::kFile || was.kind == RegionKind::kShared) {
    if (new_length <= old_length) {
      if (new_length < old_length) UnmapCall(address + new_length, old_length - new_length);
      return static_cast<long>(address);
    }
    if ((flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
    if (was.kind == RegionKind::kShared || was.fd < 0) return -ENOMEM;
    const long moved =
        MapCall(0, new_length, was.protection, was.map_private != 0 ? MAP_PRIVATE : MAP_SHARED,
                was.fd, was.offset + (address - was.start));
    if (!Failed(moved)) UnmapCall(address, old_length);
    return moved;
  }
  if (new_length <= old_length) {
    if (new_length < old_length) UnmapCall(address + new_length, old_length - new_length);
    return static_cast<long>(address);
  }
  if (InArena(address)) {
    Held held(&shared->memory_lock);
    for (int i = 0; i < shared->free_count; ++i) {
      const Extent& extent = shared->free[i];
      if (extent.start > address + old_length) break;
      if (extent.start == address + old_length && extent.end >= address + new_length) {
        TakeRange(shared->free, &shared->free_count, address + old_length, address + new_length);
        if (address + new_length > shared->arena_high) shared->arena_high = address + new_length;
        return static_cast<long>(address);
      }
    }
  }
  if ((flags & MREMAP_MAYMOVE) == 0) return -ENOMEM;
  const long moved = MapCall(0, new_length, was.protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Failed(moved)) return moved;
  CopyBytes(reinterpret_cast<void*>(moved), reinterpret_cast<const void*>(address), old_length);
  UnmapCall(address, old_length);
  return moved;
}

long BreakCall(uint64_t address) {
  Held held(&shared->memory_lock);
  if (address < shared->break_start || address > shared->break_end)
    return static_cast<long>(shared->break_now);
  if (address < shared->break_now) {
    const uint64_t from = Up(address);
    const Region* region = FindRegion(from);
    if (region != nullptr && Up(shared->break_now) > from)
      Punch(region->offset + (from - region->start), Up(shared->break_now) - from);
  }
  shared->break_now = address;
  return static_cast<long>(address);
}

long AdviseCall(uint64_t address, uint64_t length, int advice) {
  if (address % kPage != 0) return -EINVAL;
  length = Up(length);
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE) {
    Held held(&shared->memory_lock);
    for (int i = FirstRegionAfter(address);
         i < shared->regions_count && shared->regions[i].start < address + length; ++i) {
      const Region& region = shared->regions[i];
      if (region.kind != RegionKind::kMemory || advice == MADV_FREE)
        continue;  // free: may, need not, be dropped
      const uint64_t start = region.start > address ? region.start : address;
      const uint64_t end = region.end < address + length ? region.end : address + length;
      KeepTouched(start, end);
      Punch(region.offset + (start - region.start), end - start);
    }
    return 0;
  }
  return 0;  // the rest is advice
}

}  // namespace wf::recorder::data
