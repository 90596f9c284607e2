// Linking: which call caused which, one request at a time (docs/concepts/linking.md).
//
// Nesting adds up likelihoods over all requests; linking decides jointly for all calls that overlap at a
// node. Each call has one parent, and a parent has to behave as parents of its kind do: which calls it makes,
// how often, how long after which event. This behaviour is learnt from the trace itself, in turns with the
// assignment.
//
// The result depends on the calls alone: neither on the number of threads nor on the numbering of nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/call.h"

namespace wf::paths {

struct LinkOptions {
  size_t candidates = 0;  // how many other parents to report per call
  unsigned threads = 0;   // 0: one per core
  // How far a time copied from the other end's clock may be off. Own sightings are compared exactly.
  Nanos skew_window = 5 * kMilli;
};

struct LinkCounts {
  uint64_t candidates_cut = 0;  // candidate parents left out because a call had too many of them
};

// `calls` in line order (Place). One assignment per call, in the same order.
std::vector<Assignment> LinkCalls(std::span<const Call> calls, const LinkOptions& options,
                                  LinkCounts* counts = nullptr);

}  // namespace wf::paths
