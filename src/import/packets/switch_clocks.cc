#include "import/packets/switch_clocks.h"

#include <algorithm>

namespace wf {

std::map<std::string, Nanos> AlignSwitchClocks(PacketPassages& passages) {
  // Least transit seen from one switch to the next, where it is known which is next.
  std::map<std::pair<std::string, std::string>, Nanos> least;
  const auto& all = passages.passages;
  for (size_t i = 1; i < all.size(); ++i) {
    const QueuePassage &a = all[i - 1], &b = all[i];
    if (!(a.packet == b.packet) || a.position == 0 || b.position != a.position + 1) continue;
    const auto& from = passages.queues[a.queue].node;
    const auto& to = passages.queues[b.queue].node;
    if (from == to) continue;
    const Nanos transit = SaturatingSub(b.ingress_ns, a.egress_ns);
    const auto [at, added] = least.emplace(std::make_pair(from, to), transit);
    if (!added) at->second = std::min(at->second, transit);
  }
  const bool agree =
      std::all_of(least.begin(), least.end(), [](const auto& pair) { return pair.second >= 0; });
  if (agree) return {};
  std::map<std::string, Nanos> shift;
  for (const auto& [pair, transit] : least) shift[pair.first] = shift[pair.second] = 0;
  bool changed = true;
  for (size_t round = 0; changed && round <= shift.size(); ++round) {
    changed = false;
    for (const auto& [pair, transit] : least) {
      const Nanos needed = SaturatingSub(shift[pair.first], transit);
      if (needed <= shift[pair.second]) continue;
      shift[pair.second] = needed;
      changed = true;
    }
  }
  if (changed) {
    passages.Count("clocks_contradict");
    return {};
  }
  std::map<std::string, Nanos> moved;
  for (const auto& [node, by] : shift)
    if (by != 0) moved.emplace(node, by);
  for (QueuePassage& passage : passages.passages) {
    const auto found = moved.find(passages.queues[passage.queue].node);
    if (found == moved.end()) continue;
    passage.ingress_ns = SaturatingAdd(passage.ingress_ns, found->second);
    passage.egress_ns = SaturatingAdd(passage.egress_ns, found->second);
  }
  return moved;
}

}  // namespace wf
