// Control depth: the branches taken within each sub-computation. The emulator's plugin tells them, if the program runs
// in it; the processor, if `wherefore record` found that it can; else the blocks of a program that was compiled to tell.
#include "recorder/preload/control/branch_rings.h"
#include "recorder/preload/control/coverage.h"
#include "recorder/preload/control/emulator.h"
#include "recorder/preload/recording.h"

namespace wf::recorder {
namespace {

DepthHooks g_others;  // data depth's, which go on

// Enough for most sub-computations; the plugin keeps the rest until it is asked again.
constexpr uint64_t kRunsAtOnce = 1024;

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

void StartEmulated(Slot* slot) {
  if (g_others.sub_computation_start != nullptr) g_others.sub_computation_start(slot);
  Mark(kMarkOpen, static_cast<long>(slot->index));
}

void EndEmulated(Slot* slot) {
  if ((g_region->depth & kData) == 0) {
    Mark(kMarkClose);
  } else {
    PagesRecord record;
    uint64_t runs = 0;
    Mark(kMarkClose, Arg(record.run), kRunsAtOnce, Arg(&runs));
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

}  // namespace

const char* StartControlDepth() {
  if (g_branch_rings == nullptr) return "no memory for the branches; leave --control out";
  g_others = g_hooks;
  const bool emulated = UnderEmulator();
  const BranchSource source = emulated ? BranchSource::kQemu : BranchSource::kCoverage;
  g_branch_rings->source.store(static_cast<uint16_t>(source));
  g_hooks.thread_begin = emulated ? BeginEmulated : BeginCovered;
  g_hooks.sub_computation_start = emulated ? StartEmulated : StartCovered;
  g_hooks.sub_computation_end = emulated ? EndEmulated : EndCovered;
  return nullptr;
}

}  // namespace wf::recorder
