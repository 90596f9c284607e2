// The pages of one sub-computation, as runs in one spelling.
#pragma once

#include <vector>

#include "recorder/reader/recording.h"

namespace wf::recorder {

// Ascending, without overlaps, what was written where two runs disagree; neighbours that are alike become one.
void NormalisePages(std::vector<PageRuns>& runs);

}  // namespace wf::recorder
