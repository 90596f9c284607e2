// Marks events that may have lost a predecessor to retention. Lost causes are named by their effects, but
// nothing names a lost predecessor, so this checks what could have been there: the predecessors of v on a
// server ended after w (raw_graph.cc), a lost one ended before the time retained from, and the first
// remaining occupant of the server came no earlier than it left. If these leave no instant for its end,
// nothing was lost.
#include <algorithm>

#include "analysis/provenance/execution.h"

namespace wf::provenance {

void MarkLostPredecessors(Execution& x, Nanos retained_from) {
  x.lost_predecessor.assign(x.size(), false);
  std::vector<Nanos> since;
  for (uint32_t e = 0; e < x.size(); ++e) {
    const bool waits = x.ready_told[e] || x.type[e] == ProvenanceType::kDerive ||
                       x.type[e] == ProvenanceType::kUnderive || x.type[e] == ProvenanceType::kSend;
    // No event is ready before its predecessor ended: where that is late enough, for all holds at once.
    if (!waits || x.ready_ns[e] >= SaturatingSub(retained_from, 1)) continue;
    since.clear();
    for (uint32_t h = x.holds_begin[e]; h < x.holds_begin[e + 1]; ++h)
      since.push_back(x.holds[h].since_ns);
    std::sort(since.begin(), since.end());
    for (uint32_t h = x.holds_begin[e]; h < x.holds_begin[e + 1]; ++h) {
      const Hold& hold = x.holds[h];
      Nanos w = x.ready_ns[e];
      const auto at = std::lower_bound(since.begin(), since.end(), hold.since_ns);
      if (at != since.begin()) w = std::max(w, *(at - 1));
      const uint32_t first = x.occupants[x.occupants_begin[x.lane(hold)]];
      const Nanos latest = std::min(SaturatingSub(retained_from, 1), x.holds[first].since_ns);
      if (w < latest) x.lost_predecessor[e] = true;
    }
  }
}

}  // namespace wf::provenance
