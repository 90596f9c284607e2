// Control depth: the branches taken within each sub-computation. They come from the emulator's plugin, if the
// program runs in it; from the processor, if `wherefore record` found that it can trace; else from the blocks
// of a program that was compiled to report them.
#include <stdlib.h>

#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/coverage.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/control/pt_branches.h"
#include "recorder/preload/data/allocations.h"
#include "recorder/preload/data/transfers.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/start.h"

namespace wf::recorder {
namespace {

DepthHooks g_others;  // those of data depth, which stay in use

// Small, because it may be on a small signal stack; the plugin keeps the rest until the next request.
constexpr uint64_t kRunsAtOnce = 64;

struct PagesRecord {
  Pages pages;
  PageRun run[kRunsAtOnce];
};

// --- the emulator

void BeginEmulated(Slot* slot) {
  if (g_others.thread_begin != nullptr) g_others.thread_begin(slot);
  const ScribeBell bell = BellOf(g_region);
  const uint32_t number = NumberOf(g_region, slot);
  Mark(kMarkThread, Arg(&g_branch_rings->ring[number]), Arg(BranchBytesOf(g_branch_rings, number)),
       Arg(&bell));
}

// The arguments are inputs of the first sub-computation.
void NoteArgumentsOnce(const Slot* slot) {
  static bool noted = false;
  if (noted || slot->thread != 0 || (g_region->depth & kData) == 0) return;
  noted = true;
  data::NoteArguments();
}

// What the calls of the sub-computation moved, as the plugin saw them.
void TakeTransfers(Slot* slot) {
  alignas(8) uint8_t records[4096];
  while (true) {
    uint64_t size = 0;
    Mark(kMarkTransfers, Arg(records), sizeof records, Arg(&size));
    if (size == 0) return;
    for (uint64_t at = 0; at < size;) {
      auto* transfer = reinterpret_cast<Transfer*>(records + at);
      transfer->time_ns -= g_region->started_ns;
      Append(slot, transfer, transfer->head.size);
      at += transfer->head.size;
    }
  }
}

void StartEmulated(Slot* slot) {
  NoteArgumentsOnce(slot);
  if (g_others.sub_computation_start != nullptr) g_others.sub_computation_start(slot);
  Mark(kMarkOpen, static_cast<long>(slot->index));
}

void PauseEmulated(Slot* /*slot*/) { Mark(kMarkClose); }

void EndEmulated(Slot* slot) {
  if ((g_region->depth & kData) == 0) {
    Mark(kMarkClose);
  } else {
    PagesRecord record;
    uint64_t runs = 0;
    Mark(kMarkClose, Arg(record.run), kRunsAtOnce, Arg(&runs));
    TakeTransfers(slot);
    while (runs != 0) {
      record.pages.head = {RecordKind::kPages, 0,
                           static_cast<uint32_t>(sizeof(Pages) + runs * sizeof(PageRun))};
      record.pages.runs = runs;
      Append(slot, &record, record.pages.head.size);
      if (runs < kRunsAtOnce) break;
      runs = 0;
      Mark(kMarkPages, Arg(record.run), kRunsAtOnce, Arg(&runs));
    }
  }
  if (g_others.sub_computation_end != nullptr) g_others.sub_computation_end(slot);
}

// --- blocks of an instrumented program

void BeginCovered(Slot* slot) {
  if (g_others.thread_begin != nullptr) g_others.thread_begin(slot);
  const uint32_t number = NumberOf(g_region, slot);
  CoverageOfThread().Begin(&g_branch_rings->ring[number], BranchBytesOf(g_branch_rings, number),
                           BellOf(g_region));
}

void StartCovered(Slot* slot) {
  if (g_others.sub_computation_start != nullptr) g_others.sub_computation_start(slot);
  CoverageOfThread().Open(slot->index);
}

void EndCovered(Slot* slot) {
  CoverageOfThread().Close();
  if (g_others.sub_computation_end != nullptr) g_others.sub_computation_end(slot);
}

// --- the processor

void BeginTraced(Slot* slot) {
  if (g_others.thread_begin != nullptr) g_others.thread_begin(slot);
  BeginPt(slot);
}
void StartTraced(Slot* slot) {
  if (g_others.sub_computation_start != nullptr) g_others.sub_computation_start(slot);
  StartPt(slot);
}
void PauseTraced(Slot* slot) { EndPt(slot); }
void EndTraced(Slot* slot) {
  EndPt(slot);
  if (g_others.sub_computation_end != nullptr) g_others.sub_computation_end(slot);
}
void FinishTraced(Slot* slot) {
  FinishPt(slot);
  if (g_others.thread_end != nullptr) g_others.thread_end(slot);
}

using Hook = void (*)(Slot*);
void Use(BranchSource source, Hook begin, Hook start, Hook pause, Hook end) {
  g_branch_source = static_cast<uint16_t>(source);
  g_branch_rings->source.store(g_branch_source);
  g_hooks.thread_begin = begin;
  g_hooks.sub_computation_start = start;
  g_hooks.call_entered = pause;
  g_hooks.sub_computation_end = end;
}

}  // namespace

// `wherefore record` says in the environment what it chose; under the emulator there is nothing to choose.
const char* StartControlDepth() {
  if (g_branch_rings == nullptr) return "no memory for the branches; leave --control out";
  g_others = g_hooks;
  const char* chosen = ::getenv(kControlVariable);
  const bool overwrite = chosen != nullptr && std::strcmp(chosen, "pt-overwrite") == 0;
  if (UnderEmulator()) {
    if ((g_region->depth & kData) != 0) {
      data::WatchAllocations();
      data::ReadArguments();
    }
    Use(BranchSource::kQemu, BeginEmulated, StartEmulated, PauseEmulated, EndEmulated);
  } else if (chosen != nullptr && std::strncmp(chosen, "pt", 2) == 0) {
    const char* why = PreparePt(overwrite ? PtMode::kOverwrite : PtMode::kFullTrace);
    if (why != nullptr) return why;
    Use(BranchSource::kPt, BeginTraced, StartTraced, PauseTraced, EndTraced);
    g_hooks.thread_end = FinishTraced;
  } else {
    Use(BranchSource::kCoverage, BeginCovered, StartCovered, nullptr, EndCovered);
  }
  return nullptr;
}

}  // namespace wf::recorder
