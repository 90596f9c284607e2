#include "recorder/preload/control/branch_rings.h"

namespace wf::recorder {

BranchRings* g_branch_rings = nullptr;

}  // namespace wf::recorder
