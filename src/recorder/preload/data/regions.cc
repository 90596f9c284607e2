#include "recorder/preload/data/regions.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data {

void Punch(uint64_t offset, uint64_t length) {
  Kernel(SYS_fallocate, shared->arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
         static_cast<long>(offset), static_cast<long>(length));
}

int FirstRegionAfter(uint64_t address) {  // the first that ends behind it
  int low = 0, high = shared->regions_count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (shared->regions[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void InsertRegion(int at, const Region& region) {
  if (shared->regions_count == kMaxRegions) GiveUp("too many mappings");
  for (int k = shared->regions_count; k > at; --k) shared->regions[k] = shared->regions[k - 1];
  shared->regions[at] = region;
  ++shared->regions_count;
}

static void EraseRegion(int at) {
  for (int k = at + 1; k < shared->regions_count; ++k) shared->regions[k - 1] = shared->regions[k];
  --shared->regions_count;
}

// Cuts the region at the address, so that one begins there.
void SplitAt(uint64_t address) {
  const int at = FirstRegionAfter(address);
  if (at == shared->regions_count || shared->regions[at].start >= address) return;
  Region second = shared->regions[at];
  shared->regions[at].end = address;
  second.offset += address - second.start;
  second.start = address;
  if (second.fd >= 0)
    second.fd =
        static_cast<int>(Kernel(SYS_fcntl, second.fd, F_DUPFD_CLOEXEC, shared->first_own_fd));
  InsertRegion(at + 1, second);
}

void JoinAround(uint64_t start, uint64_t end) {
  for (int i = FirstRegionAfter(start ? start - 1 : 0); i + 1 < shared->regions_count;) {
    Region& a = shared->regions[i];
    const Region& b = shared->regions[i + 1];
    if (b.start > end) return;
    const bool same = a.end == b.start && a.kind == b.kind && a.kind == RegionKind::kMemory &&
                      a.protection == b.protection && a.offset + (a.end - a.start) == b.offset;
    if (same) {
      a.end = b.end;
      EraseRegion(i + 1);
    } else {
      ++i;
    }
  }
}

// Removes what is mapped in the range and gives its backing back.
void DropRange(uint64_t start, uint64_t end) {
  SplitAt(start);
  SplitAt(end);
  for (int i = FirstRegionAfter(start);
       i < shared->regions_count && shared->regions[i].start < end;) {
    const Region was = shared->regions[i];
    if (was.kind == RegionKind::kMemory) {
      Punch(was.offset, was.end - was.start);
      GiveExtent(shared->annex_free, &shared->annex_count, was.offset,
                 was.offset + (was.end - was.start));
    }
    if (was.fd >= 0) Kernel(SYS_close, was.fd);
    EraseRegion(i);
  }
  if (start >= shared->files && end <= shared->files_end)
    GiveExtent(shared->file_free, &shared->file_free_count, start, end);
}

// Addresses that we hand out stay reserved: the kernel must not choose them for the recorder's own mappings.
long Unmap(uint64_t start, uint64_t length) {
  if (start < shared->files || start + length > shared->files_end)
    return Kernel(SYS_munmap, static_cast<long>(start), static_cast<long>(length));
  const long result =
      Kernel(SYS_mmap, static_cast<long>(start), static_cast<long>(length), PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return Failed(result) ? result : 0;
}

void MapHere(const Region& region) {
  const uint64_t length = region.end - region.start;
  long result = 0;
  switch (region.kind) {
    case RegionKind::kMemory:
      result = Kernel(SYS_mmap, static_cast<long>(region.start), static_cast<long>(length),
                      PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shared->arena_fd,
                      static_cast<long>(region.offset));
      if (!Failed(result) && !RegisterRange(region.start, region.end))
        GiveUp("userfaultfd cannot watch a mapping");
      break;
    case RegionKind::kRecorder:
      result = Kernel(SYS_mmap, static_cast<long>(region.start), static_cast<long>(length),
                      region.protection, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shared->arena_fd,
                      static_cast<long>(region.offset));
      break;
    case RegionKind::kShared:
      result = Kernel(SYS_mmap, static_cast<long>(region.start), static_cast<long>(length),
                      PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shared->shared_fd,
                      static_cast<long>(region.offset));
      if (!Failed(result) && !RegisterRange(region.start, region.end))
        GiveUp("userfaultfd cannot watch a mapping");
      break;
    case RegionKind::kFile:
      if (region.fd < 0) return;  // mapped before there was a second process: every one has it
      result = Kernel(SYS_mmap, static_cast<long>(region.start), static_cast<long>(length),
                      region.protection,
                      (region.map_private != 0 ? MAP_PRIVATE : MAP_SHARED) | MAP_FIXED, region.fd,
                      static_cast<long>(region.offset));
      break;
  }
  if (Failed(result)) GiveUp("a mapping of another thread cannot be repeated");
}

void TrackFile(const Region& region) {
  if (region.kind != RegionKind::kFile || (region.protection & PROT_READ) == 0 ||
      (region.protection & PROT_EXEC) != 0)
    return;
  if (!RegisterRange(region.start, region.end)) return;
  if (Tracked(region)) {
    Kernel(SYS_mprotect, static_cast<long>(region.start),
           static_cast<long>(region.end - region.start), PROT_NONE);
  } else {
    AddFileRange(region.start, region.end);
  }
}

void ApplyRange(uint64_t start, uint64_t end) {
  ForgetRange(start, end);
  if (!InArena(start)) {
    bool all_files_kept = true;
    for (int i = FirstRegionAfter(start);
         i < shared->regions_count && shared->regions[i].start < end; ++i)
      all_files_kept &= shared->regions[i].kind != RegionKind::kFile || shared->regions[i].fd >= 0;
    if (all_files_kept) Unmap(start, end - start);
  }
  for (int i = FirstRegionAfter(start); i < shared->regions_count && shared->regions[i].start < end;
       ++i) {
    Region piece = shared->regions[i];
    if (piece.start < start) {
      piece.offset += start - piece.start;
      piece.start = start;
    }
    if (piece.end > end) piece.end = end;
    MapHere(piece);
    TrackFile(piece);
  }
}

// The change is already made here; the other processes are notified.
void Announce(uint64_t start, uint64_t end) {
  const uint64_t version = shared->version.load(std::memory_order_relaxed);
  shared->changes[version % kMaxChanges] = {start, end};
  if (self->version == version) self->version = version + 1;
  shared->version.store(version + 1, std::memory_order_release);
}

uint64_t TakeArena(uint64_t length) {
  const uint64_t address = TakeExtent(shared->free, &shared->free_count, length);
  if (address != 0 && address + length > shared->arena_high) shared->arena_high = address + length;
  return address;
}

uint64_t TakeAnnex(uint64_t length) {
  return TakeExtent(shared->annex_free, &shared->annex_count, length);
}

const Region* FindRegion(uint64_t address) {
  const int at = FirstRegionAfter(address);
  return at < shared->regions_count && shared->regions[at].start <= address ? &shared->regions[at]
                                                                            : nullptr;
}

uint64_t Untracked(uint64_t address) {
  const Region* region = FindRegion(address);
  if (region == nullptr ||
      (region->kind != RegionKind::kMemory && region->kind != RegionKind::kRecorder))
    return 0;
  return shared->alias + region->offset + (address - region->start);
}

namespace {

int ApplyChanges() {  // with the lock held
  const uint64_t version = shared->version.load(std::memory_order_acquire);
  const int applied = static_cast<int>(version - self->version);
  if (version - self->version > kMaxChanges) {
    for (int i = 0; i < shared->regions_count; ++i) {
      const Region region = shared->regions[i];
      if (region.kind != RegionKind::kRecorder) ApplyRange(region.start, region.end);
    }
  } else {
    for (uint64_t v = self->version; v < version; ++v) {
      const Extent change = shared->changes[v % kMaxChanges];
      ApplyRange(change.start, change.end);
    }
  }
  self->version = version;
  return applied;
}

}  // namespace

int SyncMemory() {
  if (shared->version.load(std::memory_order_acquire) == self->version) return 0;
  Held held(&shared->memory_lock);
  return ApplyChanges();
}

void MapRegionsOfNewProcess() {
  Held held(&shared->memory_lock);
  ApplyChanges();  // what others mapped since this process was made
  for (int i = 0; i < shared->regions_count; ++i) {
    const Region& region = shared->regions[i];
    if (region.kind == RegionKind::kMemory || region.kind == RegionKind::kShared) {
      // Several neighbours are one range: the kernel joins their mappings.
      int last = i;
      while (last + 1 < shared->regions_count &&
             shared->regions[last + 1].start == shared->regions[last].end &&
             shared->regions[last + 1].kind == region.kind)
        ++last;
      const uint64_t end = shared->regions[last].end;
      Kernel(SYS_mprotect, static_cast<long>(region.start), static_cast<long>(end - region.start),
             PROT_NONE);
      if (!RegisterRange(region.start, end)) GiveUp("userfaultfd cannot watch a mapping");
      i = last;
    } else {
      ForgetRange(region.start, region.end);
      TrackFile(region);
    }
  }
}

}  // namespace wf::recorder::data
