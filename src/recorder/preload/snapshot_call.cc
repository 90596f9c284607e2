// `wherefore_snapshot()`: the program requests a snapshot of itself (include/wherefore/record.h).
#include <linux/futex.h>

#include "recorder/preload/raw_calls.h"
#include "recorder/preload/recording.h"
#include "recorder/preload/scribe.h"
#include "recorder/preload/start.h"

namespace wf::recorder {
namespace {

// At most as long as a thread waits for room in its ring: a stopped scribe must not stop the program.
constexpr uint64_t kPatienceNs = 2'000'000'000;

int TakeSnapshot() {
  if (!OwnsRecording()) return -1;
  Region* region = g_region;
  const uint32_t mine = region->snapshots_wanted.fetch_add(1, std::memory_order_acq_rel) + 1;
  const uint64_t began = MonotonicNs();
  while (true) {
    const uint32_t served = region->snapshots_served.load(std::memory_order_acquire);
    if (static_cast<int32_t>(served - mine) >= 0) break;
    if (region->broken.load(std::memory_order_relaxed) != 0 || MonotonicNs() - began > kPatienceNs)
      return -1;
    KickScribe(region);
    timespec patience = {0, 20'000'000};
    RawCall(SYS_futex, Arg(&region->snapshots_served), FUTEX_WAIT, served, Arg(&patience));
  }
  const uint32_t number = region->last_snapshot.load(std::memory_order_acquire);
  return number == 0 ? -1 : static_cast<int>(number);
}

}  // namespace
}  // namespace wf::recorder

WF_EXPORT int wherefore_snapshot() { return wf::recorder::TakeSnapshot(); }
