// Calls and their parents → trees: the children of each call in order of time, and hashes by which trees of
// equal shape and names are recognised.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf::paths {

struct PathForest {
  std::vector<uint32_t> first;  // start of each call's children in `kids`; size: calls + 1
  std::vector<uint32_t> kids;
  std::vector<uint32_t> order;  // every call that is in a tree, parents before their children
  std::vector<uint32_t> roots;

  std::span<const uint32_t> KidsOf(uint32_t call) const {
    return {kids.data() + first[call], first[call + 1] - first[call]};
  }
  std::span<uint32_t> KidsOf(uint32_t call) {
    return {kids.data() + first[call], first[call + 1] - first[call]};
  }
};

// A call whose parent is not an index of a call (kNoParent), or has no return, is a root; calls without a
// return, and those whose parent is `undecided`, are in no tree. Parents must not form a cycle.
PathForest BuildForest(std::span<const Call> calls, std::span<const uint32_t> parents,
                       uint32_t undecided);

// The hash of a node over the hashes of its children in rising order: equal for trees that agree in names, whatever
// the order of children.
class TreeHash {
 public:
  explicit TreeHash(uint64_t name) : hash_(MixBits(name ^ 0x6C62272E07BB0142ull)) {}
  void AddChild(uint64_t child) { hash_ = MixBits(hash_ * 0x9E3779B97F4A7C15ull + child + 1); }
  uint64_t Finish() const { return MixBits(hash_ + 0x2545F4914F6CDD1Dull); }

 private:
  uint64_t hash_;
};

// The hash of a whole path: its tree and the caller of its root.
inline uint64_t PathHash(uint64_t client_name, uint64_t root) {
  TreeHash hash(client_name);
  hash.AddChild(root);
  return hash.Finish();
}

}  // namespace wf::paths
