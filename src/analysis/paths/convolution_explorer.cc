// What figure 6 leaves open, and how it is done here:
//
// - Correlation is by destination. Figure 6 correlates with all that a node sends and then splits what matched; a seldom
//   destination's spike would drown in the others' noise, and each would take a share of the others' chance matches.
// - Matching is one to one: a message that arrived stands for as many messages that left as the spike has on average
//   (one, but for parallel calls), those nearest to the delay. Otherwise at high load each hop would take along what
//   happens to fall into the window, and counts would grow along a path.
// - Derived paths (§5.3.1). In A→B→C→B→A what arrived from A is followed by the call to C and, later, by the return to
//   A. Delays are looked at from the shortest; what lies behind one is explored before the next is looked at, and a
//   message that was found to follow a later arrival on the same path (C's return) is not counted for the earlier one.
//   When less than half of a spike's messages are left, it was derived.
// - Support. A path that comes back to a node must also show, as such a derived delay, at its earlier visit there. What
//   does not came along by chance on the way: messages of other callers that fell into a window.
// - Cycles: messages that are on the path already are not caused by it.
#include "analysis/paths/convolution_explorer.h"

#include <algorithm>
#include <cmath>

#include "analysis/paths/convolution_spikes.h"

namespace wf {
namespace {

constexpr int64_t kNegativeLags = 64;  // looked at to tell effects from what merely went before
constexpr double kCycle = 0.5, kOwn = 0.5, kSupported = 0.25;

struct Follower {
  uint32_t edge = 0;
  Spike spike;
  std::vector<uint32_t> messages;  // in the order they left
};

struct PathStep {
  NodeId node = 0;
  double delays = 0;  // quanta from the root to here, without time between nodes
  std::vector<uint32_t>
      reachable;  // messages that follow what arrived here, derived ones too; sorted
};

class Explorer {
 public:
  Explorer(const EdgeTrace& trace, const ConvolutionOptions& options, ConvolutionResult& result)
      : trace_(trace),
        options_(options),
        result_(result),
        quantum_(result.quantum_ns),
        origin_(trace.first_ns - ((trace.first_ns % quantum_) + quantum_) % quantum_),
        last_lag_(result.max_delay_ns / quantum_),
        correlator_({-kNegativeLags, last_lag_}, Quantum(trace.last_ns) + 1, options.method) {
    spikes_.high = options.high;
    spikes_.low = options.low;
    if (options.variance_ns >= 0)
      spikes_.variance = (options.variance_ns + quantum_ - 1) / quantum_;
    for (const TraceEdge& edge : trace.edges) {
      std::vector<int64_t> quanta;
      quanta.reserve(edge.messages.size());
      for (const uint32_t m : edge.messages) quanta.push_back(Quantum(trace.messages[m].sent_ns));
      effects_.push_back(Indicator(quanta, ++signals_));
    }
    on_path_.assign(trace.messages.size(), 0);
    claimed_.assign(trace.messages.size(), 0);
    taken_.assign(trace.messages.size(), 0);
  }

  void FromRoot(NodeId root, VisitForest& forest) {
    forest_ = &forest;
    uint64_t leaving = 0;
    for (const uint32_t e : trace_.out[root]) leaving += trace_.edges[e].messages.size();
    least_ = std::max<uint64_t>(
        options_.least,
        static_cast<uint64_t>(std::ceil(options_.noise * static_cast<double>(leaving))));
    const uint32_t at = forest.Add(root, kNoVisit);
    steps_.push_back({root, 0, {}});
    for (const uint32_t e : trace_.out[root]) {
      std::vector<uint32_t> messages = trace_.edges[e].messages;
      const uint32_t child = forest.Add(trace_.edges[e].receiver, at);
      forest.visits[child].count = messages.size();
      if (messages.size() >= least_) GoOn(child, std::move(messages), 0);
    }
    steps_.pop_back();
  }

  uint64_t least() const { return least_; }
  const CorrelationCounts& correlations() const { return correlator_.counts(); }

 private:
  int64_t Quantum(Nanos time) const { return (time - origin_) / quantum_; }

  // One more hop: `messages` made the visit.
  void GoOn(uint32_t visit, std::vector<uint32_t> messages, double delay) {
    const NodeId node = forest_->visits[visit].node;
    if (trace_.out[node].empty() || trace_.IsSource(node)) return;
    if (steps_.size() >= options_.max_depth) {
      ++result_.suppressed.deep;
      return;
    }
    for (const uint32_t m : messages) ++on_path_[m];
    steps_.push_back({node, steps_.back().delays + delay, {}});
    SortByArrival(trace_, messages);
    Visit(visit, messages);
    steps_.pop_back();
    for (const uint32_t m : messages) --on_path_[m];
  }

  // ProcessNode of figure 6.
  void Visit(uint32_t visit, const std::vector<uint32_t>& arrivals) {
    const uint64_t start = claims_;
    std::vector<Follower> followers = FindCausedMessages(arrivals);
    const NodeId node = forest_->visits[visit].node;
    // Up to the first whose receiver can lead back here nothing can be derived: such delays to one receiver are one
    // visit, explored at once with all their messages.
    size_t first_back = 0;
    while (first_back < followers.size() &&
           !Leads(trace_.edges[followers[first_back].edge].receiver, node))
      ++first_back;
    std::vector<bool> done(followers.size(), false);
    for (size_t i = 0; i < followers.size(); ++i) {
      if (done[i]) continue;
      std::vector<uint32_t> together;
      std::map<int64_t, uint64_t> delays;
      double moment = 0;
      for (size_t k = i; k < (i <= first_back ? std::min(first_back + 1, followers.size()) : i + 1);
           ++k) {
        if (done[k] || followers[k].edge != followers[i].edge) continue;
        done[k] = true;
        const size_t own = KeepUnclaimed(followers[k].messages, start);
        if (own == 0) continue;
        delays[followers[k].spike.lag] += own;
        moment += followers[k].spike.centre * static_cast<double>(own);
        together.insert(together.end(), followers[k].messages.begin(), followers[k].messages.end());
        for (const uint32_t m : followers[k].messages) claimed_[m] = ++claims_;
      }
      if (together.empty()) continue;
      std::sort(together.begin(), together.end());
      const uint32_t child = forest_->Add(trace_.edges[followers[i].edge].receiver, visit);
      forest_->visits[child].count = together.size();
      forest_->visits[child].delays = std::move(delays);
      const double delay = moment / static_cast<double>(together.size());
      GoOn(child, std::move(together), delay);
    }
  }

  // Leaves those that nothing below this visit claims; none, if they are not the spike's own. Returns how many.
  size_t KeepUnclaimed(std::vector<uint32_t>& messages, uint64_t start) {
    const size_t before = messages.size();
    std::erase_if(messages, [&](uint32_t m) { return claimed_[m] > start; });
    if (static_cast<double>(messages.size()) < kOwn * static_cast<double>(before)) {
      ++result_.suppressed.derived;
      messages.clear();
    } else if (messages.size() < least_) {
      ++result_.suppressed.noise;
      messages.clear();
    }
    return messages.size();
  }

  // FindCausedMessages of figure 6: by falling likelihood of being direct, that is by delay.
  std::vector<Follower> FindCausedMessages(const std::vector<uint32_t>& arrivals) {
    std::vector<int64_t> quanta;
    quanta.reserve(arrivals.size());
    for (const uint32_t m : arrivals) quanta.push_back(Quantum(trace_.messages[m].received_ns));
    const Signal cause = Indicator(quanta, ++signals_);
    std::vector<Follower> found;
    for (const uint32_t e : trace_.out[steps_.back().node]) {
      if (trace_.edges[e].messages.size() < least_) continue;
      const Spikes spikes =
          FindSpikes(correlator_.Correlate(cause, effects_[e]), -kNegativeLags, spikes_);
      result_.suppressed.negative += spikes.negative;
      for (const Spike& spike : spikes.spikes) {
        Follower follower{e, spike, Match(arrivals, quanta, trace_.edges[e], spike)};
        if (follower.messages.size() < least_) {
          ++result_.suppressed.noise;
        } else if (OnPath(follower.messages)) {
          ++result_.suppressed.cycles;
        } else {
          found.push_back(std::move(follower));
        }
      }
    }
    correlator_.Forget(cause.id);
    std::vector<uint32_t>& reachable = steps_.back().reachable;
    for (const Follower& follower : found)
      reachable.insert(reachable.end(), follower.messages.begin(), follower.messages.end());
    std::sort(reachable.begin(), reachable.end());
    std::erase_if(found, [&](const Follower& follower) {
      if (Supported(follower)) return false;
      ++result_.suppressed.unsupported;
      return true;
    });
    std::stable_sort(found.begin(), found.end(), [](const Follower& a, const Follower& b) {
      return a.spike.centre < b.spike.centre;
    });
    return found;
  }

  // The messages of an edge that left after one of the arrivals by the spike's delay.
  std::vector<uint32_t> Match(const std::vector<uint32_t>& arrivals,
                              const std::vector<int64_t>& quanta, const TraceEdge& edge,
                              const Spike& spike) {
    ++matchings_;
    const double mean = spike.excess / static_cast<double>(arrivals.size());
    const auto each = static_cast<size_t>(std::max(1.0, std::ceil(mean - 0.25)));
    const auto centre = static_cast<Nanos>(spike.centre * static_cast<double>(quantum_));
    std::vector<uint32_t> out;
    std::vector<std::pair<Nanos, uint32_t>> near;
    size_t begin = 0;
    for (size_t a = 0; a < arrivals.size(); ++a) {
      const Nanos arrived = trace_.messages[arrivals[a]].received_ns;
      const auto left = [&](size_t i) { return trace_.messages[edge.messages[i]].sent_ns; };
      while (begin < edge.messages.size() && Quantum(left(begin)) < quanta[a] + spike.first)
        ++begin;
      near.clear();
      for (size_t i = begin; i < edge.messages.size() && Quantum(left(i)) <= quanta[a] + spike.last;
           ++i) {
        const uint32_t m = edge.messages[i];
        if (taken_[m] == matchings_ || left(i) < arrived - options_.skew_window_ns) continue;
        near.emplace_back(std::abs(left(i) - arrived - centre), m);
      }
      if (near.size() > each) {
        std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(each),
                         near.end());
        near.resize(each);
      }
      for (const auto& [distance, m] : near) {
        taken_[m] = matchings_;
        out.push_back(m);
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  bool OnPath(const std::vector<uint32_t>& messages) const {
    const auto on = std::count_if(messages.begin(), messages.end(),
                                  [&](uint32_t m) { return on_path_[m] > 0; });
    return static_cast<double>(on) >= kCycle * static_cast<double>(messages.size());
  }

  bool Supported(const Follower& follower) const {
    const PathStep& here = steps_.back();
    for (size_t s = steps_.size() - 1; s-- > 1;) {
      const PathStep& earlier = steps_[s];
      if (earlier.node != here.node) continue;
      // Too far back for the lags that were looked at: nothing can be said.
      const double since = here.delays - earlier.delays + follower.spike.centre;
      if (2 * since > static_cast<double>(last_lag_)) return true;
      const auto known =
          std::count_if(follower.messages.begin(), follower.messages.end(), [&](uint32_t m) {
            return std::binary_search(earlier.reachable.begin(), earlier.reachable.end(), m);
          });
      return static_cast<double>(known) >=
             kSupported * static_cast<double>(follower.messages.size());
    }
    return true;
  }

  // Whether messages from one node can lead to another.
  bool Leads(NodeId from, NodeId to) {
    std::vector<bool>& reached = leads_[from];
    if (reached.empty()) {
      reached.assign(trace_.out.size(), false);
      std::vector<NodeId> open = {from};
      while (!open.empty()) {
        const NodeId node = open.back();
        open.pop_back();
        for (const uint32_t e : trace_.out[node]) {
          const NodeId next = trace_.edges[e].receiver;
          if (reached[next]) continue;
          reached[next] = true;
          open.push_back(next);
        }
      }
    }
    return reached[to];
  }

  const EdgeTrace& trace_;
  const ConvolutionOptions& options_;
  ConvolutionResult& result_;
  const Nanos quantum_, origin_;
  const int64_t last_lag_;
  Correlator correlator_;
  SpikeOptions spikes_;
  std::vector<Signal> effects_;  // of each edge, by when its messages left
  uint64_t signals_ = 0;
  VisitForest* forest_ = nullptr;
  uint64_t least_ = 0;
  std::vector<PathStep> steps_;
  std::vector<uint16_t> on_path_;  // of each message: edges of the present path that it is on
  std::vector<uint64_t> claimed_;  // of each message: when it was last counted
  uint64_t claims_ = 0;
  std::vector<uint64_t> taken_;  // of each message: the matching that took it
  uint64_t matchings_ = 0;
  std::map<NodeId, std::vector<bool>> leads_;
};

}  // namespace

VisitForest Explore(const EdgeTrace& trace, const std::vector<NodeId>& roots,
                    const ConvolutionOptions& options, ConvolutionResult& result) {
  VisitForest forest;
  Explorer explorer(trace, options, result);
  uint64_t least = options.least;
  for (const NodeId root : roots) {
    explorer.FromRoot(root, forest);
    least = std::max(least, explorer.least());
  }
  MergeSiblings(forest);
  result.suppressed.short_paths += RemoveShortPaths(forest, 4 * least);
  result.correlations = explorer.correlations();
  return forest;
}

}  // namespace wf
