// Which service called which, and how often: Jaeger's dependency graph, counted from the stored
// spans of a window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace wf {

struct DependencyLink {
  std::string parent, child;  // services
  uint64_t call_count = 0;
  bool operator==(const DependencyLink&) const = default;
};

struct Dependencies {
  std::vector<DependencyLink> links;  // by parent, then child
  uint64_t spans = 0;                 // looked at
};

// A call is a span whose parent span, in the same trace, belongs to another service. Stops after
// `max_spans`: then spans == max_spans or more, and the counts are of that part of the window which
// the store gave first.
Result<Dependencies> CountDependencies(Store& store, const std::string& tenant, TimeRange time,
                                       uint64_t max_spans);

}  // namespace wf
