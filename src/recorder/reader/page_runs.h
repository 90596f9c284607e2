// Brings the pages of one sub-computation into one canonical form of runs.
#pragma once

#include <vector>

#include "recorder/reader/recording.h"

namespace wf::recorder {

// Ascending and without overlaps; "written" wins where two runs disagree; equal neighbours are joined.
void NormalisePages(std::vector<PageRuns>& runs);

}  // namespace wf::recorder
