// A call and the parent that was inferred of it, as places of the input.
#pragma once

#include <vector>

#include "model/sighting.h"

namespace wf::paths {

struct AssignmentRow {
  Place call, parent;  // parent's line 0: none
  float p = 1;
  bool unpaired = false;
  struct Other {
    Place parent;
    double p = 0;
  };
  std::vector<Other> others;
};

}  // namespace wf::paths
