// The visits that convolution found, while they are being found and put in order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/paths/convolution.h"

namespace wf::paths {

constexpr uint32_t kNoVisit = UINT32_MAX;

struct Visit {
  NodeId node = 0;
  uint32_t parent = kNoVisit;
  uint64_t count = 0;                  // messages that made it; of a root 0
  std::map<int64_t, uint64_t> delays;  // in quanta at the parent → messages
  std::vector<uint32_t> children;
  std::vector<uint32_t> messages;  // that made it, sorted; until ghosts are removed
  double strength =
      1;  // of the messages before them, the part that these follow more than by chance
};

struct VisitForest {
  std::vector<Visit> visits;
  std::vector<uint32_t> roots;

  uint32_t Add(NodeId node, uint32_t parent);
};

// A message has one cause. Where messages of others fell into a window by chance, all that follows what the window was
// taken from seems to follow them too, at another delay: a ghost of the true path beside it. Removes visits most of whose
// messages made another visit, to which they stand twice as firmly, and all below them. Returns how many.
uint64_t RemoveGhosts(VisitForest& forest, size_t messages);

// Two visits to a node after the same visit are one: their messages differ in the delay only.
void MergeSiblings(VisitForest& forest);

// Removes visits of fewer than `seldom` messages that end where, coming over the same edge, ten times as many go on:
// accidents, not paths (Aguilera et al. §5.2.3). Returns how many.
uint64_t RemoveShortPaths(VisitForest& forest, uint64_t seldom);

// Numbers the visits from the roots down, each before its children, busier children first.
void WriteForest(const VisitForest& forest, Nanos quantum, ConvolutionResult& result);

}  // namespace wf::paths
