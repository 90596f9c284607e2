#include "analysis/paths/convolution.h"

#include <algorithm>

#include "analysis/paths/convolution_explorer.h"
#include "analysis/paths/convolution_quantum.h"

namespace wf::paths {
namespace {

constexpr int64_t kFewestLags = 1024;  // mean and deviation need points that are not spikes
constexpr int64_t kMaxConvolutionLags = int64_t{1} << 20;  // unless given; a correlation of 8 MB
constexpr int64_t kMostLagsAsked = int64_t{1} << 26;
// Delays longer than this part of the trace occur too rarely in it to be found.
constexpr int64_t kPartOfTrace = 8;
constexpr int64_t kMostQuanta = int64_t{1} << 40;

Status Check(const ConvolutionOptions& options) {
  if (!(options.high > 0) || !(options.low > 0) || options.low > options.high) {
    return BadInput("convolution: N and S must be above 0, and S not above N",
                    "the defaults are --spike-high 4 --spike-low 3");
  }
  if (options.quantum_ns < 0 || options.max_delay_ns < 0 || options.skew_window_ns < 0)
    return BadInput("convolution: quantum, longest delay and skew window cannot be negative");
  if (!(options.noise >= 0 && options.noise <= 1))
    return BadInput("convolution: noise is a part, from 0 to 1", "--noise 0.005 is the default");
  return {};
}

Result<std::vector<NodeId>> FindRoots(const EdgeTrace& trace, const StringTable& nodes,
                                      const ConvolutionOptions& options) {
  std::vector<NodeId> roots;
  for (const std::string& name : options.roots) {
    const NodeId node = nodes.Find(name);
    if (node >= trace.out.size() || trace.out[node].empty())
      return NotFound("root " + name + ": sends no message", "names are case-sensitive");
    if (std::find(roots.begin(), roots.end(), node) == roots.end()) roots.push_back(node);
  }
  if (!roots.empty()) return roots;
  for (NodeId node = 0; node < trace.out.size(); ++node)
    if (trace.IsSource(node)) roots.push_back(node);
  if (roots.empty()) {
    return NotFound("no root: every node that sends also receives a CALL or MSG",
                    "name where paths begin: --root NODE");
  }
  return roots;
}

}  // namespace

Result<ConvolutionResult> Convolve(std::span<const Sighting> sightings, const StringTable& nodes,
                                   const ConvolutionOptions& options) {
  WF_TRY(Check(options));
  PathMessages collected = CollectMessages(sightings);
  ConvolutionResult result;
  result.messages = collected.messages.size();
  result.duplicates = collected.duplicates;
  result.retransmissions = collected.retransmissions;
  const EdgeTrace trace = SplitByEdge(std::move(collected.messages), nodes.size());
  if (trace.messages.empty()) {
    result.quantum_ns = std::max<Nanos>(1, options.quantum_ns);
    result.quantum_why = options.quantum_ns > 0 ? "as given" : "no messages";
    return result;
  }
  WF_ASSIGN(const std::vector<NodeId> roots, FindRoots(trace, nodes, options));

  result.quantum_ns = options.quantum_ns;
  result.quantum_why = "as given";
  if (options.quantum_ns == 0) {
    QuantumChoice choice = ChooseQuantum(trace);
    result.quantum_ns = choice.quantum_ns;
    result.quantum_why = std::move(choice.why);
  }
  const Nanos span = SaturatingSub(trace.last_ns, trace.first_ns);
  const int64_t quanta = span / result.quantum_ns + 1;
  if (quanta > kMostQuanta) {
    return BadInput(
        "convolution: the trace spans over 10^12 quanta of " + FormatDuration(result.quantum_ns),
        "a coarser quantum: --quantum");
  }
  int64_t lags = std::clamp(quanta / kPartOfTrace, kFewestLags, kMaxConvolutionLags);
  if (options.max_delay_ns > 0) {
    lags = std::max(kFewestLags, options.max_delay_ns / result.quantum_ns);
    if (lags > kMostLagsAsked) {
      return BadInput("convolution: the longest delay spans over 67 million quanta of " +
                          FormatDuration(result.quantum_ns),
                      "a coarser quantum or a shorter delay: --quantum, --max-delay");
    }
  }
  result.max_delay_ns = lags * result.quantum_ns;
  const VisitForest forest = Explore(trace, roots, options, result);
  WriteForest(forest, result.quantum_ns, result);
  return result;
}

}  // namespace wf::paths
