#include "analysis/paths/convolution_quantum.h"

#include <algorithm>
#include <cmath>

#include "analysis/paths/convolution_correlation.h"
#include "analysis/paths/convolution_spikes.h"

namespace wf::paths {
namespace {

constexpr size_t kNodesAsked = 7, kEffectsTried = 4;
constexpr size_t kCausesUsed = 10'000;  // more do not sharpen a spike that shows
constexpr int64_t kLags = 2048;
constexpr int64_t kFinestPart = 20;  // of a delay: more precision than this is not worth its cost
constexpr double kAsGood = 0.9;
constexpr int64_t kMaxTriedQuanta = 1'000'000'000;
constexpr int64_t kUsualQuanta = 50'000;  // the paper's multi-tier trace: 500 s by 10 ms

// 1, 2, 5, 10, … ns, as far as needed.
std::vector<Nanos> Series(Nanos least, Nanos most) {
  std::vector<Nanos> out;
  for (Nanos decade = 1; decade <= most; decade *= 10) {
    for (const Nanos digit : {1, 2, 5})
      if (digit * decade >= least && digit * decade <= most) out.push_back(digit * decade);
    if (decade > INT64_MAX / 100) break;
  }
  return out;
}

// The coarsest power of ten that every time is a multiple of.
Nanos Resolution(const EdgeTrace& trace) {
  Nanos resolution = kSecond;
  for (const PathMessage& message : trace.messages) {
    while (resolution > 1 &&
           (message.sent_ns % resolution != 0 || message.received_ns % resolution != 0))
      resolution /= 10;
  }
  return resolution;
}

struct Probe {
  std::vector<Nanos> causes, effects;  // times at one node
};

Signal Counted(const std::vector<Nanos>& times, Nanos origin, Nanos quantum, uint64_t id) {
  Signal out;
  out.id = id;
  for (const Nanos time : times) {
    const int64_t at = (time - origin) / quantum;
    if (out.pulses.empty() || out.pulses.back().quantum != at) out.pulses.push_back({at, 0});
    out.pulses.back().weight += 1;
  }
  return out;
}

// How much the clearest spike stands out at this quantum; 0 if there is none.
double Clearness(const Probe& probe, Nanos origin, Nanos quantum, Correlator& correlator) {
  const std::span<const double> c = correlator.Correlate(
      Counted(probe.causes, origin, quantum, 1), Counted(probe.effects, origin, quantum, 2));
  correlator.Forget(1);
  correlator.Forget(2);
  std::vector<double> sorted(c.begin(), c.end());
  std::nth_element(sorted.begin(), sorted.begin() + kLags / 2, sorted.end());
  const double background = sorted[kLags / 2];
  double best = 0;
  for (const Spike& spike : FindSpikes(c, 0, {}).spikes) {
    if (spike.lag > kFinestPart) continue;
    const double mass = c[static_cast<size_t>(spike.lag)] - background;
    best = std::max(best, mass / std::sqrt(static_cast<double>(quantum)));
  }
  return best;
}

class Chooser {
 public:
  explicit Chooser(const EdgeTrace& trace) : trace_(trace) {}

  QuantumChoice Choose() {
    const Nanos span = std::max<Nanos>(1, trace_.last_ns - trace_.first_ns);
    const Nanos resolution = Resolution(trace_);
    const Nanos least = std::max(resolution, span / kMaxTriedQuanta);
    series_ = Series(least, std::max(least, span / 512));
    std::vector<Nanos> votes;
    for (const NodeId node : BusyNodes())
      if (const Nanos vote = Vote(node, span); vote > 0) votes.push_back(vote);
    if (votes.empty()) {
      const std::vector<Nanos> usual = Series(least, std::max(least, span / kUsualQuanta));
      return {usual.empty() ? least : usual.back(),
              "no delay stands out; a part of the trace's length"};
    }
    std::sort(votes.begin(), votes.end());
    const Nanos chosen = votes[votes.size() * 3 / 4];
    return {chosen, chosen < 10 * resolution && resolution == kSecond
                        ? "near the resolution of the times"
                        : "delays stand out most at it"};
  }

 private:
  // Nodes that receive and send, by how much they receive on their busiest edge.
  std::vector<NodeId> BusyNodes() {
    busiest_.assign(trace_.out.size(), UINT32_MAX);
    std::vector<NodeId> nodes;
    for (uint32_t e = 0; e < trace_.edges.size(); ++e) {
      const TraceEdge& edge = trace_.edges[e];
      if (trace_.out[edge.receiver].empty() || trace_.IsSource(edge.receiver)) continue;
      uint32_t& busiest = busiest_[edge.receiver];
      if (busiest == UINT32_MAX) nodes.push_back(edge.receiver);
      if (busiest == UINT32_MAX || edge.messages.size() > trace_.edges[busiest].messages.size())
        busiest = e;
    }
    std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      return trace_.edges[busiest_[a]].messages.size() > trace_.edges[busiest_[b]].messages.size();
    });
    if (nodes.size() > kNodesAsked) nodes.resize(kNodesAsked);
    return nodes;
  }

  Nanos Vote(NodeId node, Nanos span) {
    std::vector<uint32_t> arrivals = trace_.edges[busiest_[node]].messages;
    SortByArrival(trace_, arrivals);
    if (arrivals.size() > kCausesUsed) arrivals.resize(kCausesUsed);
    std::vector<uint32_t> out = trace_.out[node];
    std::stable_sort(out.begin(), out.end(), [&](uint32_t a, uint32_t b) {
      return trace_.edges[a].messages.size() > trace_.edges[b].messages.size();
    });
    if (out.size() > kEffectsTried) out.resize(kEffectsTried);
    std::vector<double> clearness(series_.size(), 0);
    for (const uint32_t e : out) {
      Probe probe;
      for (const uint32_t m : arrivals) probe.causes.push_back(trace_.messages[m].received_ns);
      const Nanos until = SaturatingAdd(probe.causes.back(), span / 8 + kSecond);
      for (const uint32_t m : trace_.edges[e].messages) {
        if (trace_.messages[m].sent_ns <= until)
          probe.effects.push_back(trace_.messages[m].sent_ns);
      }
      for (size_t i = 0; i < series_.size(); ++i) {
        clearness[i] =
            std::max(clearness[i], Clearness(probe, trace_.first_ns, series_[i], correlator_));
      }
    }
    const double best = *std::max_element(clearness.begin(), clearness.end());
    if (best <= 0) return 0;
    for (size_t i = 0; i < series_.size(); ++i)
      if (clearness[i] >= kAsGood * best) return series_[i];
    return 0;
  }

  const EdgeTrace& trace_;
  std::vector<Nanos> series_;
  Correlator correlator_{{0, kLags - 1}, 3 * kLags, CorrelationMethod::kByCost};
  std::vector<uint32_t> busiest_;  // the edge each node receives most on
};

}  // namespace

QuantumChoice ChooseQuantum(const EdgeTrace& trace) { return Chooser(trace).Choose(); }

}  // namespace wf::paths
