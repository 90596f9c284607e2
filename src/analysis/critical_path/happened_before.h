// What a place of a trace happened before: for each block, the earliest instant after which everything in the
// block comes after that place, and how this is known. Causality goes from a block to its children when they
// start, from a child that is waited for to its parent when the child ends, and along edges.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/critical_path/path_graph.h"

namespace wf::critical_path {

enum class ReachedVia : uint8_t {
  kNothing,
  kPlace,    // the place itself
  kParent,   // its parent started it
  kLink,     // a linked block came before it; Reached::what: that block
  kEdge,     // what: the edge received
  kChild,    // what: the child that ended
  kSibling,  // what: a sibling that ended within the overlap tolerance of its start
};

struct Reached {
  Nanos time_ns = INT64_MAX;  // INT64_MAX: never
  ReachedVia via = ReachedVia::kNothing;
  uint32_t what = kNone;
};

// One entry per block.
std::vector<Reached> HappenedBefore(const PathGraph& graph, PathPlace from,
                                    OverlapTolerance overlap);

}  // namespace wf::critical_path
