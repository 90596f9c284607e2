#include "analysis/paths/path_accuracy.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/paths/path_forest.h"

namespace wf::paths {
namespace {

constexpr uint32_t kTop = 25;
constexpr uint32_t kNoPath = UINT32_MAX;

template <typename Row>
uint32_t Find(const std::vector<Row>& rows, const Place& call) {
  const auto at = std::lower_bound(rows.begin(), rows.end(), call,
                                   [](const Row& row, const Place& p) { return row.call < p; });
  return at != rows.end() && at->call == call ? static_cast<uint32_t>(at - rows.begin()) : kNoPath;
}

// Rows as trees. A parent without a row, or one that is below its own child, is ignored.
struct Trees {
  std::vector<uint32_t> parent, root;
  std::vector<uint32_t> order;  // parents first
};

Trees TreesOf(const std::vector<ParentRow>& rows) {
  Trees trees;
  const uint32_t size = static_cast<uint32_t>(rows.size());
  trees.parent.assign(size, kNoPath);
  for (uint32_t i = 0; i < size; ++i)
    if (rows[i].parent.line != 0) trees.parent[i] = Find(rows, rows[i].parent);
  std::vector<uint32_t> walk(size, kNoPath);
  for (uint32_t start = 0; start < size; ++start) {
    uint32_t at = start;
    while (at != kNoPath && walk[at] == kNoPath) {
      walk[at] = start;
      at = trees.parent[at];
    }
    if (at != kNoPath && walk[at] == start)
      trees.parent[at] = kNoPath;  // a ring in a file of truth
  }
  std::vector<std::vector<uint32_t>> kids(size);
  for (uint32_t i = 0; i < size; ++i) {
    if (trees.parent[i] == kNoPath)
      trees.order.push_back(i);
    else
      kids[trees.parent[i]].push_back(i);
  }
  trees.root.resize(size);
  for (size_t i = 0; i < trees.order.size(); ++i) {
    const uint32_t at = trees.order[i];
    trees.root[at] = trees.parent[at] == kNoPath ? at : trees.root[trees.parent[at]];
    trees.order.insert(trees.order.end(), kids[at].begin(), kids[at].end());
  }
  return trees;
}

using PatternCounts = std::unordered_map<uint64_t, uint64_t>;

PatternCounts CountPatterns(const std::vector<ParentRow>& rows, const Trees& trees,
                            const std::vector<RequestNames>& names, const StringTable& nodes) {
  const auto name_of = [&](NodeId node) { return KeyOf(nodes.At(node)); };
  std::vector<std::vector<uint64_t>> kid_hashes(rows.size());
  PatternCounts counts;
  for (size_t i = trees.order.size(); i-- > 0;) {
    const uint32_t at = trees.order[i];
    const uint32_t named = Find(names, rows[at].call);
    const uint64_t callee = named == kNoPath ? 0 : name_of(names[named].callee);
    auto& kids = kid_hashes[at];
    std::sort(kids.begin(), kids.end());
    TreeHash hash(callee);
    for (const uint64_t kid : kids) hash.AddChild(kid);
    kids = {};
    if (rows[at].unpaired) continue;  // found paths are of calls with a return
    const uint32_t parent = trees.parent[at];
    if (parent != kNoPath && !rows[parent].unpaired)
      kid_hashes[parent].push_back(hash.Finish());
    else
      ++counts[PathHash(named == kNoPath ? 0 : name_of(names[named].caller), hash.Finish())];
  }
  return counts;
}

std::vector<std::pair<uint64_t, uint64_t>> ByCount(const PatternCounts& counts) {
  std::vector<std::pair<uint64_t, uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return sorted;
}

void ComparePatterns(const PatternCounts& truth, const PatternCounts& found, PathAccuracy& to) {
  const auto count_in = [](const PatternCounts& counts, uint64_t id) {
    const auto at = counts.find(id);
    return at == counts.end() ? uint64_t{0} : at->second;
  };
  to.true_patterns = truth.size();
  to.found_patterns = found.size();
  for (const auto& [id, count] : truth) {
    const uint64_t got = count_in(found, id);
    to.true_instances += count;
    to.pattern_fn += got == 0;
    to.instance_fn += count - std::min(count, got);
  }
  for (const auto& [id, count] : found) {
    const uint64_t wanted = count_in(truth, id);
    to.found_instances += count;
    to.pattern_fp += wanted == 0;
    to.instance_fp += count - std::min(count, wanted);
  }
  const auto true_order = ByCount(truth), found_order = ByCount(found);
  std::unordered_map<uint64_t, size_t> rank;
  for (size_t r = 0; r < found_order.size(); ++r) rank[found_order[r].first] = r;
  for (uint32_t n = 1; n <= std::min<size_t>(kTop, true_order.size()); ++n) {
    const double border =
        n <= found_order.size() ? static_cast<double>(found_order[n - 1].second) : 0;
    uint32_t missing = 0, missing_2 = 0, missing_6 = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const uint64_t id = true_order[i].first;
      const auto at = rank.find(id);
      if (at != rank.end() && at->second < n) continue;
      const double count = static_cast<double>(count_in(found, id));
      missing += count < border || count == 0;  // of a tie at the border, either may be the N-th
      missing_2 += count < 0.98 * border || count == 0;
      missing_6 += count < 0.94 * border || count == 0;
    }
    to.top.push_back({n, 1.0 * missing / n, 1.0 * missing_2 / n, 1.0 * missing_6 / n});
  }
}

}  // namespace

PathAccuracy MeasureAccuracy(std::vector<ParentRow> truth, std::vector<ParentRow> found,
                             std::vector<RequestNames> names, const StringTable& nodes) {
  std::sort(truth.begin(), truth.end());
  std::sort(found.begin(), found.end());
  std::sort(names.begin(), names.end());
  PathAccuracy accuracy;
  const Trees true_trees = TreesOf(truth), found_trees = TreesOf(found);

  std::vector<uint8_t> whole(truth.size(), 1);  // by root
  for (uint32_t i = 0; i < truth.size(); ++i) {
    accuracy.unknown_rows += Find(names, truth[i].call) == kNoPath;
    const uint32_t at = Find(found, truth[i].call);
    const bool right = at != kNoPath && found[at].parent == truth[i].parent;
    if (truth[i].parent.line != 0) {
      ++accuracy.edges.of;
      accuracy.edges.part += right;
    }
    if (!right) whole[true_trees.root[i]] = 0;
  }
  // A foreign call in a tree: a row that names a parent in it without belonging there.
  for (const ParentRow& row : found) {
    if (row.parent.line == 0) continue;
    const uint32_t parent = Find(truth, row.parent);
    if (parent == kNoPath) continue;
    const uint32_t own = Find(truth, row.call);
    if (own == kNoPath || true_trees.root[own] != true_trees.root[parent])
      whole[true_trees.root[parent]] = 0;
  }
  for (uint32_t i = 0; i < truth.size(); ++i) {
    ++accuracy.messages.of;
    accuracy.messages.part += !whole[true_trees.root[i]];
    if (true_trees.root[i] != i) continue;
    ++accuracy.traces.of;
    accuracy.traces.part += whole[i];
  }
  ComparePatterns(CountPatterns(truth, true_trees, names, nodes),
                  CountPatterns(found, found_trees, names, nodes), accuracy);
  return accuracy;
}

std::vector<ParentRow> RowsOf(std::span<const Call> calls,
                              std::span<const Assignment> assignments) {
  std::vector<ParentRow> rows(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    rows[i].call = calls[i].place;
    if (assignments[i].parent < calls.size()) rows[i].parent = calls[assignments[i].parent].place;
    rows[i].unpaired = !calls[i].returned;
  }
  return rows;
}

std::vector<RequestNames> NamesOf(std::span<const Call> calls) {
  std::vector<RequestNames> names(calls.size());
  for (size_t i = 0; i < calls.size(); ++i)
    names[i] = {calls[i].place, calls[i].caller, calls[i].callee};
  return names;
}

}  // namespace wf::paths
