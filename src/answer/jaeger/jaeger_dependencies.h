// Which service called which, and how often: Jaeger's dependency graph of a window, from the standing dataset of calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace wf::answer {

struct DependencyLink {
  std::string parent, child;  // services
  uint64_t call_count = 0;
  bool operator==(const DependencyLink&) const = default;
};

struct Dependencies {
  std::vector<DependencyLink> links;  // by parent, then child
  // What was looked at, rows of pairs of services or spans, and how many of them may be. Both are equal, or looked_at
  // is the larger, when the answer is of a part only.
  uint64_t looked_at = 0, limit = 0;
};

// Calls of traces that began in `time`, by caller and service; where old rows were thinned the counts are estimates of
// all there were. Only a window without any row (nobody keeps the dataset up, or nothing is processed yet) is counted
// from its spans, at most `max_spans` of them: there a call is a span whose parent, in the same trace, belongs to
// another service.
Result<Dependencies> CountDependencies(store::Store& store, const std::string& tenant,
                                       store::TimeRange time, uint64_t max_spans);

}  // namespace wf::answer
