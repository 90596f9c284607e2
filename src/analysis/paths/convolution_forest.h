// The visits that convolution found, while they are being found and put in order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/paths/convolution.h"

namespace wf {

constexpr uint32_t kNoVisit = UINT32_MAX;

struct Visit {
  NodeId node = 0;
  uint32_t parent = kNoVisit;
  uint64_t count = 0;                  // messages that made it; of a root 0
  std::map<int64_t, uint64_t> delays;  // in quanta at the parent → messages
  std::vector<uint32_t> children;
};

struct VisitForest {
  std::vector<Visit> visits;
  std::vector<uint32_t> roots;

  uint32_t Add(NodeId node, uint32_t parent);
};

// Two visits to a node after the same visit are one: their messages differ in the delay only.
void MergeSiblings(VisitForest& forest);

// Removes visits of fewer than `seldom` messages that end where, coming over the same edge, ten times as many go on:
// accidents, not paths (Aguilera et al. §5.2.3). Returns how many.
uint64_t RemoveShortPaths(VisitForest& forest, uint64_t seldom);

// Numbers the visits from the roots down, each before its children, busier children first.
void WriteForest(const VisitForest& forest, Nanos quantum, ConvolutionResult& result);

}  // namespace wf
