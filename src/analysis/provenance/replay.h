// What if some events had been quicker, or slower? Replays the execution in order with scaled durations.
#pragma once

#include <vector>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"

namespace wf::provenance {

ExplainWhatIfAnswer ReplayScaled(const Execution& execution, const ExplainOptions& options);

}  // namespace wf::provenance
