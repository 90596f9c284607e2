// The raw graph: every event that could have contributed to another event, or to its time (Zeno §A.2, figure
// 12: CONSTRUCT-GRAPH, RAW-QUERY, PREV-VERTEX).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/provenance/execution.h"

namespace wf::provenance {

struct RawGraph {
  std::vector<uint8_t> in;  // by event, up to `to`
  int64_t vertices = 0;
  std::vector<std::pair<uint32_t, uint32_t>> sequencing;  // predecessor, waiter; sorted, once each
};

// The smallest set with `to` that is closed under causes and predecessors.
RawGraph BuildRawGraph(const Execution& execution, uint32_t to);

// Causal ancestors of `to`, itself included; by event, up to `to`.
std::vector<uint8_t> CausalAncestors(const Execution& execution, uint32_t to);

// Adds to a set of events all their causal ancestors.
void CloseUnderCauses(const Execution& execution, std::vector<uint8_t>& in);

}  // namespace wf::provenance
