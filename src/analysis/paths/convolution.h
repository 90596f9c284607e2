// Convolution: causal paths of any system of messages, by the delays after which a node's messages follow
// those it received (Aguilera et al. §5.2, figure 6). Needs times, senders and receivers, nothing else; calls
// and returns both are messages. docs/concepts/convolution.md describes how it fills the gaps of the paper.
//
// The result is a forest: one vertex per visit to a node, from each root down. An edge says how many messages took it
// and after which delays at the node they left; messages that leave a root follow nothing, so they have no delay.
//
// Pure function of its input; memory grows with the messages and with the lags looked at, not with the trace's length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/paths/convolution_correlation.h"
#include "base/result.h"
#include "model/sighting.h"
#include "model/string_table.h"

namespace wf::paths {

struct ConvolutionOptions {
  double high = 4;         // N: a spike is at least N deviations above the mean
  double low = 3;          // S: between two spikes there is a point below S deviations
  Nanos quantum_ns = 0;    // μ; 0: chosen from the data
  Nanos variance_ns = -1;  // v: delays that differ by at most this match; -1: as wide as the spike
  Nanos max_delay_ns = 0;  // the longest delay looked for; 0: chosen from the quantum
  Nanos skew_window_ns = 0;        // an effect may seem to precede its cause by this much
  std::vector<std::string> roots;  // empty: the nodes that receive no CALL or MSG
  // A path is noise if it has fewer messages than this share of what leaves its root, or fewer than `least`.
  double noise = 0.005;
  uint64_t least = 3;
  uint32_t max_depth = 64;  // hops of a path
  CorrelationMethod method = CorrelationMethod::kByCost;
};

struct ConvolutionDelay {
  Nanos delay_ns = 0;
  uint64_t count = 0;
};

struct ConvolutionEdge {
  uint32_t from = 0, to = 0;  // vertices
  uint64_t count = 0;
  std::vector<ConvolutionDelay> delays;  // by falling count, then by delay
};

// What was found and not reported, by reason.
struct ConvolutionSuppressed {
  uint64_t noise = 0;        // too few messages
  uint64_t negative = 0;     // effects before their causes
  uint64_t cycles = 0;       // messages that are on the path already
  uint64_t derived = 0;      // the same messages follow a later cause on this path
  uint64_t unsupported = 0;  // nothing at the node's earlier visit is followed by it
  uint64_t ghosts = 0;       // the same messages follow another cause more firmly
  uint64_t short_paths = 0;  // rare, and ending where most others go on
  uint64_t deep = 0;         // beyond max_depth
};

struct ConvolutionResult {
  Nanos quantum_ns = 0;
  std::string quantum_why;
  Nanos max_delay_ns = 0;
  std::vector<NodeId> vertices;        // a vertex is named by its index; each before its children
  std::vector<uint32_t> roots;         // vertices
  std::vector<ConvolutionEdge> edges;  // the edge into each vertex but the roots, in their order
  uint64_t messages = 0, duplicates = 0, retransmissions = 0;
  ConvolutionSuppressed suppressed;
  CorrelationCounts correlations;
};

// `sightings` in time order; `nodes` names their senders and receivers.
Result<ConvolutionResult> Convolve(std::span<const Sighting> sightings, const StringTable& nodes,
                                   const ConvolutionOptions& options);

}  // namespace wf::paths
