// The tracker that reads page tables: userfaultfd and PAGEMAP_SCAN (Linux 6.7).
#pragma once

#include "recorder/preload/data/tracker.h"

namespace wf::recorder::data::page_tables {

const char* Start();
bool Watch(uint64_t start, uint64_t end);
Faulted OpenAt(const Region& region, uint64_t address, Access access);
uint64_t OpenForKernel(const Region& region, uint64_t start, uint64_t end, KernelAccess access);
void KeepTouched(uint64_t start, uint64_t end);
void ForgetRange(uint64_t start, uint64_t end);
void AddFileRange(uint64_t start, uint64_t end);
void CollectTouched(RunSink sink, void* to);
void PeekTouched(RunSink sink, void* to);
void ForgetTouched();

}  // namespace wf::recorder::data::page_tables
