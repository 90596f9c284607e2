// The walk of figure 6 (Aguilera et al. §5.2): from a root along the delays after which messages follow messages.
#pragma once

#include "analysis/paths/convolution_forest.h"
#include "analysis/paths/convolution_trace.h"

namespace wf::paths {

// `result` has the quantum and the longest delay; this adds to its counts of suppressed paths. `trace`
// outlives the call.
VisitForest Explore(const EdgeTrace& trace, const std::vector<NodeId>& roots,
                    const ConvolutionOptions& options, ConvolutionResult& result);

}  // namespace wf::paths
