// How accurate inferred paths are, where the truth is known (Aguilera et al. §7.5.1; docs/use/paths.md,
// "Accuracy").
//
// Truth and findings are rows: a request and the request that caused it. Both become trees; what is compared:
//   edges      calls given their true parent / calls that have one
//   traces     true traces whose tree came out whole, with no foreign call in it / true traces
//   patterns   false positives: found but not true; false negatives: true but not found
//   instances  per pattern, Σ max(0, found − true) and Σ max(0, true − found)
//   messages   requests whose whole inferred path is not the true one
//   top N      share of the true N most frequent patterns that are not among the found N
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/paths/call.h"
#include "base/result.h"
#include "model/string_table.h"

namespace wf::paths {

struct ParentRow {
  Place call;
  Place parent;           // line 0: none, it is a root
  bool unpaired = false;  // left out of the found paths
  bool operator<(const ParentRow& other) const { return call < other.call; }
};

// Caller and callee of a request, which a row stands for.
struct RequestNames {
  Place call;
  NodeId caller = 0, callee = 0;
  bool operator<(const RequestNames& other) const { return call < other.call; }
};

struct Fraction {
  uint64_t part = 0, of = 0;
  double Share() const { return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of); }
};

struct TopAccuracy {
  uint32_t n = 0;
  double missing = 0;  // share of the true N
  // The same, tolerating counts within 2% and 6% of the found N-th.
  double within_2 = 0, within_6 = 0;
};

struct PathAccuracy {
  Fraction edges, traces;  // right
  uint64_t true_patterns = 0, found_patterns = 0;
  uint64_t pattern_fp = 0, pattern_fn = 0;
  uint64_t true_instances = 0, found_instances = 0;
  uint64_t instance_fp = 0, instance_fn = 0;
  Fraction messages;             // wrong
  std::vector<TopAccuracy> top;  // N = 1 … 25, as far as there are true patterns
  uint64_t unknown_rows = 0;     // truth about requests that the input does not show
};

// Rows and names in any order; `names` holds every request of the input.
PathAccuracy MeasureAccuracy(std::vector<ParentRow> truth, std::vector<ParentRow> found,
                             std::vector<RequestNames> names, const StringTable& nodes);

std::vector<ParentRow> RowsOf(std::span<const Call> calls, std::span<const Assignment> assignments);
std::vector<RequestNames> NamesOf(std::span<const Call> calls);

}  // namespace wf::paths
