// Vector clocks for many threads, stored as trees with eight entries per node that share common parts. A
// thread's clock and its child's differ in one path of the tree; joining two clocks walks only where they
// differ, and returns one of the two if it covers the other. So 5,000 threads and 20,000 clocks take a few
// megabytes, instead of 400 as arrays. Thread safety: none; a pool belongs to one computation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace wf::recorder {

class ClockTree {
 public:
  using Root = uint32_t;
  static constexpr Root kZero = 0;  // all entries 0

  explicit ClockTree(size_t entries);

  uint32_t Get(Root root, uint32_t entry) const;
  Root With(Root root, uint32_t entry, uint32_t value);  // sets the entry to `value`
  Root Join(Root a, Root b);                             // the max of each entry

  // Whether no entry is above its limit; there is a limit for each. `known` caches results for shared parts,
  // and is valid for these limits only.
  using Known = std::unordered_map<uint64_t, bool>;
  bool Within(Root root, const std::vector<uint32_t>& limits, Known& known) const {
    return WithinBelow(root, levels_ - 1, 0, limits, known);
  }

  size_t nodes() const { return nodes_.size(); }

 private:
  static constexpr uint32_t kBits = 3, kFan = 1 << kBits;
  using Node = std::array<uint32_t, kFan>;  // values on the lowest level, nodes above

  Root WithBelow(Root root, uint32_t level, uint32_t entry, uint32_t value);
  Root JoinBelow(Root a, Root b, uint32_t level);
  bool WithinBelow(Root root, uint32_t level, uint32_t first, const std::vector<uint32_t>& limits,
                   Known& known) const;

  std::vector<Node> nodes_;
  uint32_t levels_ = 1;
};

}  // namespace wf::recorder
