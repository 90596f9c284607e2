// New modules are known by the first call that comes from them.
#include <linux/futex.h>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/scribe.h"

namespace wf::recorder {
namespace {

bool FindKnown(Slot* slot, uint64_t site) {
  const Region* region = g_region;
  const uint32_t known = region->modules.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < known; ++i) {
    if (site < region->module[i].begin || site >= region->module[i].end) continue;
    slot->module_begin = region->module[i].begin;
    slot->module_end = region->module[i].end;
    return true;
  }
  return false;
}

}  // namespace

void LearnModules(Slot* slot, uint64_t site) {
  if (site == 0 || FindKnown(slot, site)) return;
  Region* region = g_region;
  // The scribe looks while this thread waits: the mapping is there now, and may not be when the program has ended.
  uint32_t wanted = region->modules_seen.load(std::memory_order_acquire) != 0
                        ? region->modules_wanted.fetch_add(1, std::memory_order_acq_rel) + 1
                        : region->modules_wanted.load(std::memory_order_acquire);
  const uint64_t began = MonotonicNs();
  while (region->broken.load(std::memory_order_relaxed) == 0) {
    const uint32_t seen = region->modules_seen.load(std::memory_order_acquire);
    if (static_cast<int32_t>(seen - wanted) >= 0 || MonotonicNs() - began > 500'000'000) break;
    KickScribe(region);
    timespec patience = {0, 20'000'000};
    RawCall(SYS_futex, Arg(&region->modules_seen), FUTEX_WAIT, seen, Arg(&patience));
  }
  if (FindKnown(slot, site)) return;
  // Code without a mapping of its own that /proc shows, or too many: not asked for again from this page.
  slot->module_begin = site & ~uint64_t{4095};
  slot->module_end = slot->module_begin + 4096;
}

}  // namespace wf::recorder
