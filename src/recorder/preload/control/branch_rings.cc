#include "recorder/preload/control/branch_rings.h"

#include <sys/mman.h>

#include "recorder/preload/raw_calls.h"

namespace wf::recorder {

BranchRings* g_branch_rings = nullptr;
uint16_t g_branch_source = 0;

bool MapBranchRings() {
  if (g_branch_rings != nullptr) RawCall(SYS_munmap, Arg(g_branch_rings), kBranchRingsSize);
  g_branch_rings = nullptr;
  const long at = RawCall(SYS_mmap, 0, kBranchRingsSize, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at < 0 && at > -4096) return false;
  RawCall(SYS_madvise, at, kBranchRingsSize, MADV_DONTDUMP);
  g_branch_rings = reinterpret_cast<BranchRings*>(at);
  g_branch_rings->source.store(g_branch_source);
  return true;
}

}  // namespace wf::recorder
