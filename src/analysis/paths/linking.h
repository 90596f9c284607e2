// Linking: which call caused which, one request at a time (docs/concepts/linking.md).
//
// Where nesting adds up what is likely over all requests, linking decides jointly for all calls that overlap at a node:
// each call has one parent, and what a parent did has to be what parents of its kind do: which calls, how often, how
// long after what. None of that is given: it is learnt from the trace itself, by turns with the assignment.
//
// The result depends on the calls alone: neither on how many threads worked nor on how nodes are numbered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf::paths {

struct LinkOptions {
  size_t candidates = 0;  // how many other parents to report per call
  unsigned threads = 0;   // 0: as many as there are cores
  // By how much a time taken over from the other end's clock may be off. Own sightings are compared exactly.
  Nanos skew_window = 5 * kMilli;
};

struct LinkCounts {
  uint64_t candidates_cut = 0;  // candidate parents left out because a call had too many
};

// `calls` in line order (Place). One assignment per call, in the same order.
std::vector<Assignment> LinkCalls(std::span<const Call> calls, const LinkOptions& options,
                                  LinkCounts* counts = nullptr);

}  // namespace wf::paths
