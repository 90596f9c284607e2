// The tracker that needs only mprotect from the kernel: every first touch of a page is a signal.
#pragma once

#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data::faults {

Faulted OpenAt(const Region& region, uint64_t address, Access access);
uint64_t OpenForKernel(const Region& region, uint64_t start, uint64_t end, KernelAccess access);
// Opens everything of the region up to `end`, for a child that shares this memory; it is closed with the
// rest.
void OpenAll(const Region& region, uint64_t end);
// The system call returned: the kernel touched this part of what was opened for it.
void Settle(uint64_t start, uint64_t end, KernelAccess access);
// The rest of what was opened: a page whose bytes changed was written; the others are not known to have been
// touched.
void SettleRest();
void ForgetRange(uint64_t start, uint64_t end);
void AddFileRange(uint64_t start, uint64_t end);
void CollectTouched(RunSink sink, void* to);
void PeekTouched(RunSink sink, void* to);
void ForgetTouched();

}  // namespace wf::recorder::data::faults
