// Pages touched, exactly, by a signal for each first touch: all memory is PROT_NONE when a sub-computation begins, a page
// becomes readable when it is read and writable when it is written. Slower per page than the page tables and free of any
// cost by size; it works on every kernel.
//
// The kernel gets EFAULT where the program gets a signal, so what a system call may touch is opened before it and
// settled after it: what it did touch stays open and counts, the rest is closed again. For calls whose reach is not
// known page by page, a page whose bytes changed was written, and the page that an argument points to was read.
//
// `self->active` holds the open runs; `writable` says that they are written.
#include "recorder/preload/data/faults.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/preload/data/active_list.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/threads.h"

namespace wf::recorder::data::faults {
namespace {

// Every run is a separate mapping to the kernel, which allows some 65,000.
constexpr int kMostRuns = 8192;

void Protect(uint64_t start, uint64_t end, int protection) {
  Kernel(SYS_mprotect, static_cast<long>(start), static_cast<long>(end - start), protection);
}

int ReadOnly(const Region& region) { return (region.protection & ~PROT_WRITE) | PROT_READ; }

void RemoveRuns(uint64_t start, uint64_t end) {
  for (int i = FirstActiveAfter(start); i < self->active_count && self->active[i].start < end;) {
    const Active was = self->active[i];
    EraseActive(i);
    Active piece = was;
    if (was.start < start) {
      piece.end = start;
      InsertActive(i++, piece);
    }
    if (was.end > end) {
      piece = was;
      piece.start = end;
      InsertActive(i++, piece);
    }
  }
}

void AddRun(uint64_t start, uint64_t end, bool written) {
  RemoveRuns(start, end);
  const int at = FirstActiveAfter(start);
  const uint8_t kind = written ? 1 : 0;
  const bool before =
      at > 0 && self->active[at - 1].end == start && self->active[at - 1].writable == kind;
  const bool after =
      at < self->active_count && self->active[at].start == end && self->active[at].writable == kind;
  if (before && after) {
    self->active[at - 1].end = self->active[at].end;
    EraseActive(at);
  } else if (before) {
    self->active[at - 1].end = end;
  } else if (after) {
    self->active[at].start = start;
  } else {
    Active run = {};
    run.start = start;
    run.end = end;
    run.writable = kind;
    InsertActive(at, run);
  }
}

// 0 closed, 1 read, 2 written; `end` is how far it is the same.
int StateAt(uint64_t page, uint64_t* end) {
  const int at = FirstActiveAfter(page);
  if (at == self->active_count) return 0;
  const Active& run = self->active[at];
  if (run.start > page) {
    if (run.start < *end) *end = run.start;
    return 0;
  }
  if (run.end < *end) *end = run.end;
  return run.writable != 0 ? 2 : 1;
}

bool AlreadyOpened(uint64_t page) {
  for (int i = 0; i < self->opened_count; ++i)
    if (self->opened[i].start <= page && page < self->opened[i].end) return true;
  return false;
}

uint64_t Fingerprint(uint64_t page) {
  const uint64_t at = Untracked(page);
  if (at == 0) return 0;
  uint64_t value = 0xcbf29ce484222325;
  for (uint64_t i = 0; i < kPage; i += 8)
    value = (value ^ *reinterpret_cast<const uint64_t*>(at + i)) * 0x100000001b3;
  return value;
}

}  // namespace

Faulted OpenAt(const Region& region, uint64_t address, Access access) {
  const uint64_t page = address & ~(kPage - 1);
  uint64_t end = page + kPage;
  const int state = StateAt(page, &end);
  if (state == 2 || (state == 1 && access != Access::kWrite)) {
    // The region allows it and it is noted as open: it was closed for a moment (CloseAll).
    Protect(page, page + kPage, state == 2 ? region.protection : ReadOnly(region));
    return Faulted::kRetry;
  }
  if (self->active_count >= kMostRuns && hooks.write_pages != nullptr) hooks.write_pages();
  const bool written = access == Access::kWrite;
  Protect(page, page + kPage, written ? region.protection : ReadOnly(region));
  AddRun(page, page + kPage, written);
  return Faulted::kRetry;
}

uint64_t OpenForKernel(const Region& region, uint64_t start, uint64_t end, KernelAccess access) {
  const uint64_t stop = (end + kPage - 1) & ~(kPage - 1);
  const bool writes = access != KernelAccess::kReads && (region.protection & PROT_WRITE) != 0;
  for (uint64_t at = start & ~(kPage - 1); at < stop;) {
    uint64_t same = access == KernelAccess::kUnknown ? at + kPage : stop;
    const int state = StateAt(at, &same);
    if (access == KernelAccess::kUnknown && AlreadyOpened(at)) {
      at = same;
      continue;
    }
    if (state == 0 || (state == 1 && writes)) {
      if (self->opened_count == kMaxOpened) SettleRest();
      Protect(at, same, writes ? region.protection : ReadOnly(region));
      Opened& opened = self->opened[self->opened_count++];
      opened = {at, same, 0, 0, ReadOnly(region), region.protection};
      if (access == KernelAccess::kUnknown) {
        opened.unknown = writes ? 1 : 2;
        shared->memory_lock.Take();
        opened.fingerprint = Fingerprint(at);
        shared->memory_lock.Give();
      }
    }
    at = same;
  }
  return stop;
}

void Settle(uint64_t start, uint64_t end, KernelAccess access) {
  start &= ~(kPage - 1);
  end = (end + kPage - 1) & ~(kPage - 1);
  for (int i = 0; i < self->opened_count; ++i) {
    const Opened& opened = self->opened[i];
    const uint64_t from = opened.start > start ? opened.start : start;
    const uint64_t to = opened.end < end ? opened.end : end;
    for (uint64_t at = from; at < to;) {
      uint64_t same = to;
      if (StateAt(at, &same) != 2) AddRun(at, same, access == KernelAccess::kWrites);
      at = same;
    }
  }
}

void OpenAll(const Region& region, uint64_t end) {
  Protect(region.start, end, region.protection);
  self->all_open = 1;
}

namespace {

void CloseAll() {
  self->all_open = 0;
  shared->memory_lock.Take();
  for (int i = 0; i < shared->regions_count; ++i)
    if (Tracked(shared->regions[i]))
      Protect(shared->regions[i].start, shared->regions[i].end, PROT_NONE);
  for (int i = 0; i < self->active_count; ++i) {
    const Active& run = self->active[i];
    const Region* region = FindRegion(run.start);
    if (region != nullptr)
      Protect(run.start, run.end, run.writable != 0 ? region->protection : ReadOnly(*region));
  }
  shared->memory_lock.Give();
}

}  // namespace

void SettleRest() {
  if (self->all_open != 0) CloseAll();
  for (int i = 0; i < self->opened_count; ++i) {
    const Opened& opened = self->opened[i];
    if (opened.start >= opened.end || opened.unknown == 0) continue;
    shared->memory_lock.Take();
    const bool changed = opened.unknown == 1 && Fingerprint(opened.start) != opened.fingerprint;
    shared->memory_lock.Give();
    bool pointed_to = false;
    for (const uint64_t argument : self->last_argument)
      pointed_to |= argument >= opened.start && argument < opened.end;
    uint64_t end = opened.end;
    if (changed) {
      AddRun(opened.start, opened.end, true);
    } else if (pointed_to && StateAt(opened.start, &end) == 0) {
      AddRun(opened.start, opened.end, false);
    }
  }
  // Several openings may have met on a page: what it is allowed is what it is noted as.
  for (int i = 0; i < self->opened_count; ++i) {
    const Opened& opened = self->opened[i];
    for (uint64_t at = opened.start; at < opened.end;) {
      uint64_t end = opened.end;
      const int state = StateAt(at, &end);
      Protect(at, end, state == 0 ? PROT_NONE : state == 1 ? opened.read_only : opened.all);
      at = end;
    }
  }
  self->opened_count = 0;
}

void ForgetRange(uint64_t start, uint64_t end) {
  for (int i = FirstActiveAfter(start); i < self->active_count && self->active[i].start < end;
       ++i) {
    const Active& run = self->active[i];
    if (self->kept_count == kMaxRuns) GiveUp("too many pieces of memory unmapped at once");
    self->kept[self->kept_count++] = {run.start > start ? run.start : start,
                                      run.end < end ? run.end : end,
                                      run.writable != 0 ? uint64_t{2} : 0};
  }
  RemoveRuns(start, end);
}

void AddFileRange(uint64_t start, uint64_t end) { Protect(start, end, PROT_NONE); }

void CollectTouched(RunSink sink, void* to) {
  if (self->all_open != 0) CloseAll();
  PeekTouched(sink, to);
  self->kept_count = 0;
}

void PeekTouched(RunSink sink, void* to) {
  for (int i = 0; i < self->active_count; ++i)
    sink(to, self->active[i].start, self->active[i].end, self->active[i].writable != 0);
  for (int i = 0; i < self->kept_count; ++i)
    sink(to, self->kept[i].start, self->kept[i].end, (self->kept[i].categories & 2) != 0);
}

void ForgetTouched() {
  self->kept_count = 0;
  // This runs on a stack that is among them: it is open again at once, and noted for the next sub-computation.
  int count = 0;
  for (int i = 0; i < self->active_count;) {
    const uint64_t start = self->active[i].start;
    uint64_t end = self->active[i].end;
    for (++i; i < self->active_count && self->active[i].start == end; ++i)
      end = self->active[i].end;
    self->closing[count++] = {start, end};
  }
  self->active_count = 0;
  for (int i = 0; i < count; ++i) Protect(self->closing[i].start, self->closing[i].end, PROT_NONE);
}

}  // namespace wf::recorder::data::faults
