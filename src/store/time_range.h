// TimeRange: which instants a question is about.
#pragma once

#include "base/nanos.h"

namespace wf::store {

// Half-open: from <= t < until.
struct TimeRange {
  Nanos from = INT64_MIN;
  Nanos until = INT64_MAX;
};

}  // namespace wf::store
