#include "answer/paths/paths_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/paths/path_forest.h"

namespace wf::answer {

ShownPatterns Shown(const PathsAnswer& answer) {
  ShownPatterns shown;
  shown.patterns = paths::InOrder(*answer.table, answer.order);
  shown.omitted_patterns = answer.table->forgotten_patterns();
  shown.omitted_count = answer.table->forgotten_paths();
  if (answer.top == 0) return shown;
  for (size_t i = answer.top; i < shown.patterns.size(); ++i) {
    ++shown.omitted_patterns;
    shown.omitted_count += shown.patterns[i]->count;
  }
  shown.patterns.resize(std::min(answer.top, shown.patterns.size()));
  return shown;
}

std::vector<uint32_t> ChildrenInOrder(const paths::Pattern& pattern, uint32_t node,
                                      const StringTable& names) {
  const paths::PatternNode& at = pattern.nodes[node];
  std::vector<uint32_t> children(at.children);
  std::iota(children.begin(), children.end(), at.first_child);
  std::stable_sort(children.begin(), children.end(), [&](uint32_t a, uint32_t b) {
    const Nanos a_delay = paths::MeanOf(pattern.nodes[a].call_delay, pattern.count);
    const Nanos b_delay = paths::MeanOf(pattern.nodes[b].call_delay, pattern.count);
    return a_delay != b_delay ? a_delay < b_delay
                              : names.At(pattern.nodes[a].node) < names.At(pattern.nodes[b].node);
  });
  return children;
}

bool IsAfterReply(const paths::Pattern& pattern, uint32_t node) {
  return 2 * pattern.nodes[node].after_reply > pattern.count;
}

Nanos LinkThatMatters(const paths::Pattern& pattern, uint32_t node) {
  const paths::WideSum link = pattern.nodes[node].link;
  const paths::WideSum whole =
      pattern.total_latency + std::max<paths::WideSum>(pattern.nodes[0].link, 0);
  return link > 0 && link * 20 >= whole ? paths::MeanOf(link, pattern.count) : 0;
}

std::string PatternIdText(uint64_t id) { return fmt::format("{:016x}", id); }

uint64_t ShapeOf(const paths::Pattern& pattern) {
  std::vector<std::vector<uint64_t>> kids(pattern.nodes.size());
  uint64_t shape = 0;
  for (size_t n = pattern.nodes.size(); n-- > 0;) {
    std::sort(kids[n].begin(), kids[n].end());
    paths::TreeHash hash(0);
    for (const uint64_t kid : kids[n]) hash.AddChild(kid);
    shape = hash.Finish();
    if (n > 0) kids[pattern.nodes[n].parent].push_back(shape);
  }
  return shape;
}

}  // namespace wf::answer
