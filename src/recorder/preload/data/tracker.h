// Which pages this thread touched since its sub-computation began.
#pragma once

#include <cstdint>

#include "recorder/preload/data/state.h"

namespace wf::recorder::data {

enum class Access { kRead, kWrite, kExecute };
enum class KernelAccess { kReads, kWrites, kUnknown };
enum class Faulted { kRetry, kProgram };

// Called once: selects the tracker. nullptr, or what is missing for it.
const char* ChooseTracker(TrackerKind wanted);
// Opens what the tracker needs in this process. nullptr, or what failed.
const char* StartTracker();
void StopTracker();
bool RegisterRange(uint64_t start, uint64_t end);
bool Tracked(const Region& region);
// A fault at the address: the page was made accessible and the access is to be retried, or the fault is the
// program's own.
Faulted OnFault(uint64_t address, Access access);
// Before a call that lets the kernel access memory, and after it.
void MakeAccessible(uint64_t address, uint64_t length,
                    KernelAccess access = KernelAccess::kUnknown);
void MakeAllAccessible();
void NoteKernelAccess(uint64_t address, uint64_t length, KernelAccess access);
void EndKernelAccess();
// Keeps what was touched in the range, because its pages are about to go.
void KeepTouched(uint64_t start, uint64_t end);
// Drops the state of what is mapped in the range.
void ForgetRange(uint64_t start, uint64_t end);
void AddFileRange(uint64_t start, uint64_t end);

// Runs ascend, except those of memory that was unmapped meanwhile, which come last.
using RunSink = void (*)(void* to, uint64_t start, uint64_t end, bool written);
void CollectTouched(RunSink sink, void* to);
// The same in the middle of a sub-computation, which continues.
void PeekTouched(RunSink sink, void* to);
void ForgetTouched();

}  // namespace wf::recorder::data
