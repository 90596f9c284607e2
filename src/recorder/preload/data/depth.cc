// Data depth joined to the schedule: the pages of a sub-computation are written into its thread's stream when the
// schedule says that it ended.
#include <sys/syscall.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "recorder/preload/data/allocations.h"
#include "recorder/preload/data/data_depth.h"
#include "recorder/preload/data/flow.h"
#include "recorder/preload/data/gate.h"
#include "recorder/preload/data/memory.h"
#include "recorder/preload/data/signals.h"
#include "recorder/preload/data/state.h"
#include "recorder/preload/data/threads.h"
#include "recorder/preload/data/tracker.h"
#include "recorder/preload/data/transfers.h"
#include "recorder/preload/depth_hooks.h"
#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace data {
namespace {

void WritePages(Slot* slot) {
  if (self->pages.runs == 0) return;
  self->pages.head = {RecordKind::kPages, 0,
                      static_cast<uint32_t>(sizeof(Pages) + self->pages.runs * sizeof(PageRun))};
  Append(slot, &self->pages, self->pages.head.size);
  self->pages.runs = 0;
}

void AddRun(void* to, uint64_t start, uint64_t end, bool written) {
  auto* slot = static_cast<Slot*>(to);
  const uint64_t first = start / kPage;
  const bool ascends = self->pages.runs == 0 || self->runs[self->pages.runs - 1].first_page < first;
  if (!ascends || self->pages.runs == kMaxRecordRuns) WritePages(slot);
  if (written && self->labels != 0) LabelWritten(start, end);
  self->runs[self->pages.runs++] = {first, (end - start) / kPage | (written ? kWritten : 0)};
}

void NotePages(Slot* slot) {
  self->pages.runs = 0;
  GatherLabels();
  CollectTouched(&AddRun, slot);
  WritePages(slot);
}

void SubComputationEnds(Slot* slot) {
  if (self->in_call != 0) {  // a call within a call
    self->present_count = -1;
    return;
  }
  SignalsHeld held;
  self->in_call = 1;
  NotePages(slot);
}

void SubComputationStarts(Slot* slot) {
  SignalsHeld held;
  if (WF_UNLIKELY(slot->thread == 0 && shared->arguments_noted == 0)) {
    shared->arguments_noted = 1;
    NoteArguments();
  }
  if (SyncMemory() > 0) self->present_count = -1;
  SyncSignals();
  ForgetTouched();
  self->call_object = 0;
  self->labels = 0;
  self->in_call = 0;
}

void CallTouches(const volatile void* object) {
  self->call_object = reinterpret_cast<uint64_t>(object);
}

// In the handler of a fault. Not in the middle of a record: then the next fault does it.
void WritePagesNow() {
  Slot* slot = t_slot;
  if (slot == nullptr || slot->writing.load(std::memory_order_relaxed) != 0) return;
  if (self->in_call == 0) NotePages(slot);
  ForgetTouched();
}

void ThreadIsCreated(Slot*, Slot*) { self->creating = 1; }

// A thread that comes from no creating call of the program's: libc's own.
bool RefuseThread() { return t_slot != nullptr && self->creating == 0; }

void NoteCrash(int signal, uint64_t address, uint64_t site) {
  Slot* slot = t_slot;
  if (slot == nullptr) return;
  Crash crash = {};
  crash.head = {RecordKind::kCrash, static_cast<uint16_t>(signal), sizeof crash};
  crash.thread = slot->thread;
  crash.address = address;
  crash.time_ns = Now();
  crash.site.address = site;
  Append(slot, &crash, sizeof crash);
}

void NoteLastPages() {
  Slot* slot = t_slot;
  if (slot == nullptr || self->in_call != 0) return;
  self->in_call = 1;
  NotePages(slot);
}

}  // namespace
}  // namespace data

namespace {

// auto is the page tables where the kernel has what they need.
const char* ReadTracker(data::TrackerKind* tracker) {
  const char* text = ::getenv("WHEREFORE_RECORD_TRACKER");
  *tracker = data::TrackerKind::kAuto;
  if (text == nullptr || *text == 0 || std::strcmp(text, "auto") == 0) return nullptr;
  if (std::strcmp(text, "uffd") == 0) {
    *tracker = data::TrackerKind::kPageTables;
  } else if (std::strcmp(text, "sigsegv") == 0) {
    *tracker = data::TrackerKind::kFaults;
  } else {
    return "no such tracker: auto, uffd or sigsegv";
  }
  return nullptr;
}

}  // namespace

const char* StartDataDepth() {
  data::TrackerKind tracker;
  const char* wrong = ReadTracker(&tracker);
  if (wrong != nullptr) return wrong;
  data::WatchAllocations();
  wrong = data::Begin(tracker);
  if (wrong != nullptr) return wrong;
  wrong = data::StartFlow();
  if (wrong != nullptr) return wrong;
  data::self->in_call = 1;
  data::hooks.write_pages = &data::WritePagesNow;
  data::hooks.crashed = &data::NoteCrash;
  data::hooks.last_pages = &data::NoteLastPages;
  data::hooks.refuse_thread = &data::RefuseThread;
  g_hooks.thread_create = &data::ThreadIsCreated;
  g_hooks.sub_computation_end = &data::SubComputationEnds;
  g_hooks.sub_computation_start = &data::SubComputationStarts;
  g_hooks.call_touches = &data::CallTouches;
  return nullptr;
}

}  // namespace wf::recorder
