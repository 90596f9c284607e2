#include "analysis/paths/path_forest.h"

#include <algorithm>

namespace wf::paths {

PathForest BuildForest(std::span<const Call> calls, std::span<const uint32_t> parents,
                       uint32_t undecided) {
  PathForest forest;
  const size_t size = calls.size();
  forest.first.assign(size + 1, 0);
  // A call whose cause has no return becomes a root: it must not vanish with its cause.
  const auto child_of = [&](uint32_t i) {
    return calls[i].returned && parents[i] < size && parents[i] != undecided &&
           calls[parents[i]].returned;
  };
  for (uint32_t i = 0; i < size; ++i)
    if (child_of(i)) ++forest.first[parents[i] + 1];
  for (size_t i = 0; i < size; ++i) forest.first[i + 1] += forest.first[i];
  forest.kids.resize(forest.first[size]);
  std::vector<uint32_t> next(forest.first.begin(), forest.first.end() - 1);
  for (uint32_t i = 0; i < size; ++i) {
    if (child_of(i))
      forest.kids[next[parents[i]]++] = i;
    else if (calls[i].returned && parents[i] != undecided)
      forest.roots.push_back(i);
  }
  const auto earlier = [&](uint32_t a, uint32_t b) {
    return calls[a].sent_ns != calls[b].sent_ns ? calls[a].sent_ns < calls[b].sent_ns
                                                : calls[a].place < calls[b].place;
  };
  for (uint32_t i = 0; i < size; ++i) {
    const auto kids = forest.KidsOf(i);
    if (kids.size() > 1) std::sort(kids.begin(), kids.end(), earlier);
  }
  forest.order = forest.roots;
  forest.order.reserve(forest.roots.size() + forest.kids.size());
  for (size_t at = 0; at < forest.order.size(); ++at) {
    const auto kids = forest.KidsOf(forest.order[at]);
    forest.order.insert(forest.order.end(), kids.begin(), kids.end());
  }
  return forest;
}

}  // namespace wf::paths
