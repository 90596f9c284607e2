#include "analysis/lineage/order_path.h"

#include <algorithm>
#include <unordered_map>

namespace wf::lineage {

using recorder::SubId;

Relation RelationOf(const recorder::Clocks& clocks, SubId a, SubId b) {
  if (a == b) return Relation::kSame;
  if (clocks.Before(a, b)) return Relation::kBefore;
  return clocks.Before(b, a) ? Relation::kAfter : Relation::kConcurrent;
}

// Breadth first from `from`; clocks show beforehand which steps lead to `to` at all.
std::vector<SubId> PathBetween(const recorder::Recording& recording, const recorder::Clocks& clocks,
                               const std::vector<SyncEdge>& edges, SubId from, SubId to) {
  std::unordered_map<SubId, SubId> reached_from{{from, from}};
  std::vector<SubId> queue{from};
  for (size_t i = 0; i < queue.size() && reached_from.count(to) == 0; ++i) {
    const SubId at = queue[i];
    const auto step = [&](SubId next) {
      if (next != to && !clocks.Before(next, to)) return;
      if (reached_from.emplace(next, at).second) queue.push_back(next);
    };
    if (at + 1 < recording.threads[recording.subs[at].thread].subs.end) step(at + 1);
    auto edge = std::lower_bound(edges.begin(), edges.end(), at,
                                 [](const SyncEdge& e, SubId sub) { return e.from < sub; });
    for (; edge != edges.end() && edge->from == at; ++edge) step(edge->to);
  }
  std::vector<SubId> path;
  if (reached_from.count(to) == 0) return path;
  for (SubId at = to; at != from; at = reached_from[at]) path.push_back(at);
  path.push_back(from);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace wf::lineage
