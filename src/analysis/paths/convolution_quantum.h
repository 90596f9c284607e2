// Chooses the quantum when none is given: fine enough to tell delays apart, coarse enough that a delay's
// spread stays in one or two quanta, where it is most visible.
//
// For busy nodes, the messages they receive most often are correlated with those they send, over a series of
// quanta (1, 2, 5 in each decade). Chance fills a quantum in proportion to its width μ, so a spike of m pairs
// stands out by m / √μ: that grows as the quantum shrinks, until it is narrower than the spread of the delay
// and the spike falls apart. Each node votes for its best quantum, but for none finer than a twentieth of the
// delay; the result is the upper quartile: a quantum too coarse for some delays still shows them, one too
// fine hides others.
#pragma once

#include <string>

#include "analysis/paths/convolution_trace.h"

namespace wf::paths {

struct QuantumChoice {
  Nanos quantum_ns = 0;
  std::string why;
};

QuantumChoice ChooseQuantum(const EdgeTrace& trace);

}  // namespace wf::paths
