// The two walks of lineage.h: back to sources and forth to sinks. Each runs twice over the same state: first
// along data edges only, then along unordered steps too. What the second run adds is marked unordered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/lineage/lineage.h"

namespace wf::lineage {

// Hands out each place once, however many ranges it lies in.
class UntakenPlaces {
 public:
  explicit UntakenPlaces(size_t size) : next_(size + 1) {
    for (size_t i = 0; i <= size; ++i) next_[i] = static_cast<uint32_t>(i);
  }
  uint32_t From(uint32_t at) {
    uint32_t root = at;
    while (next_[root] != root) root = next_[root];
    while (next_[at] != root) at = std::exchange(next_[at], root);
    return root;
  }
  void Take(uint32_t at) { next_[at] = at + 1; }

 private:
  std::vector<uint32_t> next_;
};

// Sources or sinks while they are being collected.
class EndsFound {
 public:
  explicit EndsFound(const recorder::Recording& recording) : r_(recording) {}
  void Add(uint32_t transfer, const std::vector<ByteRange>& ranges, bool unordered);
  std::vector<LineageEnd> Take();

 private:
  struct Bytes {
    RangeSet ordered, unordered;
    bool has_ordered = false, has_unordered = false;  // ends without bytes count too
  };
  const recorder::Recording& r_;
  std::map<std::pair<std::string, recorder::TransferKind>, Bytes> found_;
};

Lineage WalkBack(const DataFlow& flow, const ByteFlows& bytes,
                 const std::vector<LineageRoot>& roots, EndsFound& ends, Steps steps);
Lineage WalkForth(const DataFlow& flow, const ByteFlows& bytes,
                  const std::vector<LineageRoot>& roots, Steps steps);

}  // namespace wf::lineage
