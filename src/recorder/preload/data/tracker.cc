#include "recorder/preload/data/tracker.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/preload/data/active_list.h"
#include "recorder/preload/data/faults.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/page_tables.h"

namespace wf::recorder::data {
namespace {

bool ByFaults() { return shared->tracker == TrackerKind::kFaults; }

bool Allowed(const Region& region, Access access) {
  switch (access) {
    case Access::kRead:
      return (region.protection & (PROT_READ | PROT_WRITE | PROT_EXEC)) != 0;
    case Access::kWrite:
      return (region.protection & PROT_WRITE) != 0;
    case Access::kExecute:
      return (region.protection & PROT_EXEC) != 0;
  }
  return false;
}

bool RegionAt(uint64_t address, Region* region) {
  shared->memory_lock.Take();
  const Region* found = FindRegion(address);
  if (found != nullptr) *region = *found;
  shared->memory_lock.Give();
  return found != nullptr;
}

}  // namespace

const char* ChooseTracker(TrackerKind wanted) {
  shared->tracker =
      wanted == TrackerKind::kFaults ? TrackerKind::kFaults : TrackerKind::kPageTables;
  const char* wrong = StartTracker();
  if (wrong == nullptr || wanted != TrackerKind::kAuto) return wrong;
  shared->tracker = TrackerKind::kFaults;
  return StartTracker();
}

const char* StartTracker() {
  self->active_count = 0;
  self->parts_closed = 0;
  self->present_count = -1;
  self->opened_count = 0;
  self->all_open = 0;
  self->uffd = self->pagemap = -1;
  return ByFaults() ? nullptr : page_tables::Start();
}

void StopTracker() {
  if (self->uffd >= 0) Kernel(SYS_close, self->uffd);
  if (self->pagemap >= 0) Kernel(SYS_close, self->pagemap);
}

bool RegisterRange(uint64_t start, uint64_t end) {
  return ByFaults() || page_tables::Watch(start, end);
}

// Files that are only read are watched by the page tables without ever being closed.
bool Tracked(const Region& region) {
  if (region.kind == RegionKind::kMemory || region.kind == RegionKind::kShared) return true;
  if (region.kind != RegionKind::kFile || (region.protection & PROT_EXEC) != 0) return false;
  return (region.protection & PROT_WRITE) != 0 ||
         (ByFaults() && (region.protection & PROT_READ) != 0);
}

Faulted OnFault(uint64_t address, Access access) {
  Region region;
  for (int round = 0; round < 2; ++round) {
    if (SyncMemory() > 0) return Faulted::kRetry;
    if (RegionAt(address, &region) && Tracked(region) && Allowed(region, access))
      return ByFaults() ? faults::OpenAt(region, address, access)
                        : page_tables::OpenAt(region, address, access);
  }
  return Faulted::kProgram;
}

void MakeAccessible(uint64_t address, uint64_t length, KernelAccess access) {
  if (length == 0) return;
  SyncMemory();
  const uint64_t end = address + length;
  Region region;
  for (uint64_t at = address & ~(kPage - 1); at < end;) {
    if (!RegionAt(at, &region) || !Tracked(region) || region.protection == PROT_NONE) return;
    const uint64_t stop = region.end < end ? region.end : end;
    at = ByFaults() ? faults::OpenForKernel(region, at, stop, access)
                    : page_tables::OpenForKernel(region, at, stop, access);
  }
}

void MakeAllAccessible() {
  SyncMemory();
  for (int i = 0; i < shared->regions_count; ++i) {
    const Region region = shared->regions[i];
    if (!Tracked(region) || region.protection == PROT_NONE) continue;
    uint64_t end = region.end;
    if (region.start >= shared->arena && region.start < shared->arena + kArenaSize &&
        end > shared->arena_high)
      end = shared->arena_high;
    if (region.end == shared->break_end) end = (shared->break_now + kPage - 1) & ~(kPage - 1);
    if (end <= region.start) continue;
    if (ByFaults()) {
      faults::OpenAll(region, end);
    } else {
      MakeAccessible(region.start, end - region.start);
    }
  }
}

void NoteKernelAccess(uint64_t address, uint64_t length, KernelAccess access) {
  if (ByFaults() && length > 0) faults::Settle(address, address + length, access);
}

void EndKernelAccess() {
  if (ByFaults()) faults::SettleRest();
}

void KeepTouched(uint64_t start, uint64_t end) {
  if (!ByFaults()) page_tables::KeepTouched(start, end);
}

void ForgetRange(uint64_t start, uint64_t end) {
  if (ByFaults()) {
    faults::ForgetRange(start, end);
  } else {
    page_tables::ForgetRange(start, end);
  }
}

void AddFileRange(uint64_t start, uint64_t end) {
  if (ByFaults()) {
    faults::AddFileRange(start, end);
  } else {
    page_tables::AddFileRange(start, end);
  }
}

void CollectTouched(RunSink sink, void* to) {
  if (ByFaults()) {
    faults::CollectTouched(sink, to);
  } else {
    page_tables::CollectTouched(sink, to);
  }
}

void PeekTouched(RunSink sink, void* to) {
  if (ByFaults()) {
    faults::PeekTouched(sink, to);
  } else {
    page_tables::PeekTouched(sink, to);
  }
}

void ForgetTouched() {
  if (ByFaults()) {
    faults::ForgetTouched();
  } else {
    page_tables::ForgetTouched();
  }
}

}  // namespace wf::recorder::data
