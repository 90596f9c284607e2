// The visits that convolution found, while they are collected and ordered.
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
  uint64_t count = 0;                  // messages that made this visit; 0 for a root
  std::map<int64_t, uint64_t> delays;  // in quanta at the parent → messages
  std::vector<uint32_t> children;
  std::vector<uint32_t> messages;  // of this visit, sorted; kept until ghosts are removed
  // Share of the preceding messages that these follow more often than by chance.
  double strength = 1;
};

struct VisitForest {
  std::vector<Visit> visits;
  std::vector<uint32_t> roots;

  uint32_t Add(NodeId node, uint32_t parent);
};

// A message has one cause. If messages of other requests fall into a window by chance, everything that
// follows the window's own messages seems to follow them too, at another delay: a ghost beside the true path.
// This removes visits most of whose messages made another visit with at least twice the strength, and
// everything below them. Returns how many it removed.
uint64_t RemoveGhosts(VisitForest& forest, size_t messages);

// Merges two visits to a node after the same visit: their messages differ only in the delay.
void MergeSiblings(VisitForest& forest);

// Removes visits of fewer than `seldom` messages that end at a node where ten times as many, arriving over
// the same edge, go on: these are accidents, not paths (Aguilera et al. §5.2.3). Returns how many it removed.
uint64_t RemoveShortPaths(VisitForest& forest, uint64_t seldom);

// Numbers the visits from the roots down, each before its children, busier children first.
void WriteForest(const VisitForest& forest, Nanos quantum, ConvolutionResult& result);

}  // namespace wf::paths
