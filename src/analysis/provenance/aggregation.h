// Aggregation: which events of the pruned graph are merged into one vertex (Zeno §5.2).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/provenance/execution.h"

namespace wf::provenance {

// Sets of events, by event.
struct AggregationInput {
  const std::vector<uint8_t>& shown;       // the pruned graph: closed under causes
  const std::vector<uint8_t>& functional;  // never merge
  const std::vector<uint8_t>& waited_for;  // reached by a sequencing step
};

// For each shown event: the first event of the vertex that it is merged into, often itself. For others:
// kNoEvent.
std::vector<uint32_t> MergeAlike(const Execution& execution, const AggregationInput& input);

}  // namespace wf::provenance
