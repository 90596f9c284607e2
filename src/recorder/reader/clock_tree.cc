#include "recorder/reader/clock_tree.h"

#include <algorithm>

namespace wf::recorder {

ClockTree::ClockTree(size_t entries) : nodes_(1) {
  while (levels_ * kBits < 32 && (uint64_t{1} << (levels_ * kBits)) < entries) ++levels_;
}

uint32_t ClockTree::Get(Root root, uint32_t entry) const {
  for (uint32_t level = levels_ - 1; level > 0 && root != kZero; --level)
    root = nodes_[root][(entry >> (level * kBits)) % kFan];
  return nodes_[root][entry % kFan];  // node 0 is of zeros on every level
}

ClockTree::Root ClockTree::With(Root root, uint32_t entry, uint32_t value) {
  return WithBelow(root, levels_ - 1, entry, value);
}

ClockTree::Root ClockTree::WithBelow(Root root, uint32_t level, uint32_t entry, uint32_t value) {
  const uint32_t slot = (entry >> (level * kBits)) % kFan;
  const uint32_t old = nodes_[root][slot];
  const uint32_t changed = level == 0 ? value : WithBelow(old, level - 1, entry, value);
  if (changed == old) return root;
  Node node = nodes_[root];
  node[slot] = changed;
  nodes_.push_back(node);
  return static_cast<Root>(nodes_.size() - 1);
}

ClockTree::Root ClockTree::Join(Root a, Root b) { return JoinBelow(a, b, levels_ - 1); }

ClockTree::Root ClockTree::JoinBelow(Root a, Root b, uint32_t level) {
  if (a == b || b == kZero) return a;
  if (a == kZero) return b;
  const Node left = nodes_[a], right = nodes_[b];
  Node joined;
  bool is_left = true, is_right = true;
  for (uint32_t i = 0; i < kFan; ++i) {
    joined[i] = level == 0 ? std::max(left[i], right[i]) : JoinBelow(left[i], right[i], level - 1);
    is_left = is_left && joined[i] == left[i];
    is_right = is_right && joined[i] == right[i];
  }
  if (is_left) return a;
  if (is_right) return b;
  nodes_.push_back(joined);
  return static_cast<Root>(nodes_.size() - 1);
}

bool ClockTree::WithinBelow(Root root, uint32_t level, uint32_t first,
                            const std::vector<uint32_t>& limits, Known& known) const {
  if (root == kZero) return true;
  const Node& node = nodes_[root];
  if (level == 0) {
    for (uint32_t i = 0; i < kFan && first + i < limits.size(); ++i) {
      if (node[i] > limits[first + i]) return false;
    }
    return true;
  }
  const uint64_t key = uint64_t{root} << 32 | first;
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  bool within = true;
  for (uint32_t i = 0; i < kFan && within; ++i)
    within = WithinBelow(node[i], level - 1, first + (i << (level * kBits)), limits, known);
  known[key] = within;
  return within;
}

}  // namespace wf::recorder
