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
//   When less than half of a spike's messages are left, it was derived; and also when at least half as many, by count
//   (§5.3.1), were found further down to leave for the same node after the same time in all: at high load the two find
//   the same paths by different messages.
// - The variance, unless told, is what the spike shows: its lags, and within them the times at which more messages
//   follow than by chance, at up to an eighth of a quantum.
// - Support. A path that comes back to a node must also show, as such a derived delay, at its earlier visit there. What
//   does not came along by chance on the way: messages of other callers that fell into a window.
// - Cycles: messages that are on the path already are not caused by it.
#include "analysis/paths/convolution_explorer.h"

#include <algorithm>
#include <cmath>

#include "analysis/paths/convolution_spikes.h"

namespace wf::paths {
namespace {

constexpr int64_t kNegativeLags = 64;  // checked, to distinguish effects from earlier messages
constexpr int64_t kFinest = 8;         // resolution of times, in parts of a quantum
constexpr int64_t kInPart = 32;        // messages that a part needs
constexpr double kFoot = 0.1;          // as of spikes
constexpr int64_t kSideWindows = 10;   // on each side, to estimate chance
constexpr double kChance = 0.75;       // if chance explains more of them, messages say nothing
constexpr double kCycle = 0.5, kOwn = 0.5, kSupported = 0.5;

struct Follower {
  uint32_t edge = 0;
  Spike spike;
  double half_width = 0;           // of the delays that match, in quanta
  std::vector<uint32_t> messages;  // in the order they left
};

// Messages that were counted: over which edge, and when they left, in quanta since the root's message.
struct Claim {
  uint32_t edge = 0;
  size_t depth = 0;
  double left = 0;
  uint64_t count = 0;
};

struct PathStep {
  NodeId node = 0;
  double arrived = 0;  // on average, in quanta since the root's message
  double spread = 0;   // the sum of the squared half widths of the delays up to here, in quanta
  const std::vector<uint32_t>* arrivals = nullptr;  // none at a root
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
    left_.resize(trace.messages.size());
    for (const TraceEdge& edge : trace.edges) {
      std::vector<int64_t> quanta;
      quanta.reserve(edge.messages.size());
      for (const uint32_t m : edge.messages)
        quanta.push_back(left_[m] = Quantum(trace.messages[m].sent_ns));
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
    steps_.push_back({root, 0, 0, nullptr});
    for (const uint32_t e : trace_.out[root]) {
      std::vector<uint32_t> messages = trace_.edges[e].messages;
      const uint32_t child = forest.Add(trace_.edges[e].receiver, at);
      forest.visits[child].count = messages.size();
      if (messages.size() >= least_) GoOn(child, std::move(messages), 0, 0);
    }
    steps_.pop_back();
  }

  uint64_t least() const { return least_; }
  const CorrelationCounts& correlations() const { return correlator_.counts(); }

 private:
  int64_t Quantum(Nanos time) const { return (time - origin_) / quantum_; }

  // One more hop: `messages` made the visit.
  void GoOn(uint32_t visit, std::vector<uint32_t> messages, double delay, double half_width) {
    const NodeId node = forest_->visits[visit].node;
    if (trace_.out[node].empty() || trace_.IsSource(node)) return;
    if (steps_.size() >= options_.max_depth) {
      ++result_.suppressed.deep;
      return;
    }
    for (const uint32_t m : messages) ++on_path_[m];
    SortByArrival(trace_, messages);
    const PathStep& before = steps_.back();
    steps_.push_back({node, before.arrived + delay + MeanTransit(messages),
                      before.spread + half_width * half_width, &messages});
    Visit(visit, messages);
    steps_.pop_back();
    for (const uint32_t m : messages) --on_path_[m];
  }

  // Between nodes, in quanta. Clocks that differ cancel out when a path comes back.
  double MeanTransit(const std::vector<uint32_t>& messages) const {
    double sum = 0;
    for (const uint32_t m : messages)
      sum += static_cast<double>(trace_.messages[m].received_ns - trace_.messages[m].sent_ns);
    return sum / static_cast<double>(messages.size()) / static_cast<double>(quantum_);
  }

  // ProcessNode of figure 6.
  void Visit(uint32_t visit, const std::vector<uint32_t>& arrivals) {
    const Since start{claims_.size(), counted_};
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
      double moment = 0, half_width = 0, excess = 0;
      for (size_t k = i; k < (i <= first_back ? std::min(first_back + 1, followers.size()) : i + 1);
           ++k) {
        if (done[k] || followers[k].edge != followers[i].edge) continue;
        done[k] = true;
        const size_t own = KeepOwn(followers[k], start);
        if (own == 0) continue;
        delays[followers[k].spike.lag] += own;
        moment += followers[k].spike.centre * static_cast<double>(own);
        half_width = std::max(half_width, followers[k].half_width);
        excess += std::min(followers[k].spike.excess, static_cast<double>(own));
        together.insert(together.end(), followers[k].messages.begin(), followers[k].messages.end());
        for (const uint32_t m : followers[k].messages) claimed_[m] = ++counted_;
        claims_.push_back({followers[k].edge, steps_.size(),
                           steps_.back().arrived + followers[k].spike.centre, own});
      }
      if (together.empty()) continue;
      std::sort(together.begin(), together.end());
      const uint32_t child = forest_->Add(trace_.edges[followers[i].edge].receiver, visit);
      forest_->visits[child].count = together.size();
      forest_->visits[child].delays = std::move(delays);
      forest_->visits[child].messages = together;
      forest_->visits[child].strength = excess / static_cast<double>(arrivals.size());
      const double delay = moment / static_cast<double>(together.size());
      GoOn(child, std::move(together), delay, half_width);
    }
  }

  struct Since {
    size_t claim = 0;
    uint64_t counted = 0;
  };

  // Leaves the messages that nothing below this visit claims; none, if they are not the spike's own. Returns how many.
  size_t KeepOwn(Follower& follower, const Since& start) {
    std::vector<uint32_t>& messages = follower.messages;
    const auto before = static_cast<double>(messages.size());
    const double expected = std::min(before, follower.spike.excess);
    std::erase_if(messages, [&](uint32_t m) { return claimed_[m] > start.counted; });
    const Spike& spike = follower.spike;
    const double left = steps_.back().arrived + spike.centre;
    const double reach = 1 + static_cast<double>(spike.last - spike.first + 1) / 2;
    double below = 0;
    for (size_t c = start.claim; c < claims_.size(); ++c) {
      const Claim& claim = claims_[c];
      if (claim.edge == follower.edge && claim.depth > steps_.size() &&
          std::abs(claim.left - left) <= reach)
        below += static_cast<double>(claim.count);
    }
    if (static_cast<double>(messages.size()) < kOwn * before || below > (1 - kOwn) * expected) {
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
      result_.suppressed.noise += spikes.chance;
      for (const Spike& spike : spikes.spikes) {
        Follower follower{e, spike, 0, {}};
        Match(arrivals, quanta, follower);
        const double by_chance = static_cast<double>(follower.messages.size()) - spike.excess;
        if (follower.messages.size() < least_ || spike.excess < static_cast<double>(least_) ||
            by_chance > kChance * static_cast<double>(follower.messages.size())) {
          ++result_.suppressed.noise;
        } else if (OnPath(follower.messages)) {
          ++result_.suppressed.cycles;
        } else {
          found.push_back(std::move(follower));
        }
      }
    }
    correlator_.Forget(cause.id);
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

  // Calls `use(message, time since the arrival)` for each message of `edge` in the spike's lags after arrival `a`.
  // `begin` moves on with the arrivals.
  template <typename Use>
  void ForNear(const std::vector<uint32_t>& arrivals, const std::vector<int64_t>& quanta, size_t a,
               const TraceEdge& edge, const Spike& spike, size_t& begin, const Use& use) const {
    const Nanos arrived = trace_.messages[arrivals[a]].received_ns;
    // A delay just short of a quantum's end is one quantum longer for some and one shorter for others.
    const int64_t first = quanta[a] + spike.first - 1, last = quanta[a] + spike.last + 1;
    while (begin < edge.messages.size() && left_[edge.messages[begin]] < first) ++begin;
    for (size_t i = begin; i < edge.messages.size(); ++i) {
      const uint32_t m = edge.messages[i];
      if (left_[m] > last) return;
      const Nanos since = trace_.messages[m].sent_ns - arrived;
      if (since >= -options_.skew_window_ns) use(m, since);
    }
  }

  struct Window {
    Nanos first = 0, last = 0, centre = 0;
  };

  // The times within a spike's lags at which more messages follow than by chance.
  Window Narrow(const std::vector<uint32_t>& arrivals, const std::vector<int64_t>& quanta,
                const TraceEdge& edge, const Spike& spike) const {
    const Nanos low = (spike.first - 1) * quantum_, high = (spike.last + 1) * quantum_;
    // A spike at lag l stands for delays around l quanta.
    const Window whole{low + quantum_ / 2, high - quantum_ / 2,
                       static_cast<Nanos>(spike.centre * static_cast<double>(quantum_))};
    const int64_t parts = std::min<int64_t>(kFinest, static_cast<int64_t>(spike.excess) / kInPart);
    const Nanos part = parts > 1 ? quantum_ / parts : 0;
    if (options_.variance_ns >= 0 || part == 0) return whole;
    std::vector<double> bins(static_cast<size_t>((high - low) / part + 1));
    size_t begin = 0;
    for (size_t a = 0; a < arrivals.size(); ++a) {
      ForNear(arrivals, quanta, a, edge, spike, begin, [&](uint32_t, Nanos since) {
        if (since >= low && since <= high) ++bins[static_cast<size_t>((since - low) / part)];
      });
    }
    const double level = spike.level / static_cast<double>(parts);
    const double peak = *std::max_element(bins.begin(), bins.end());
    const double foot =
        level + std::max(kFoot * (peak - level), 3 * std::sqrt(std::max(1.0, level)));
    size_t first = bins.size(), last = 0;
    double sum = 0, moment = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      if (bins[i] <= foot) continue;
      first = std::min(first, i);
      last = i;
      sum += bins[i] - level;
      moment += (bins[i] - level) * (static_cast<double>(i) + 0.5);
    }
    if (first > last) return whole;
    // Where chance is low, one part more on each side: what is below the foot is the tail of what is above
    // it.
    const double tail = level < 4 ? 1 : 0;
    const auto at = [&](double i) {
      return low + static_cast<Nanos>(i * static_cast<double>(part));
    };
    return {at(static_cast<double>(first) - tail), at(static_cast<double>(last) + 1 + tail),
            at(moment / sum)};
  }

  // The messages of an edge that left after one of the arrivals by the spike's delay.
  void Match(const std::vector<uint32_t>& arrivals, const std::vector<int64_t>& quanta,
             Follower& follower) {
    ++matchings_;
    const TraceEdge& edge = trace_.edges[follower.edge];
    Spike& spike = follower.spike;
    const Window window = Narrow(arrivals, quanta, edge, spike);
    spike.centre = static_cast<double>(window.centre) / static_cast<double>(quantum_);
    follower.half_width =
        static_cast<double>(window.last - window.first) / 2 / static_cast<double>(quantum_);
    const double mean = spike.excess / static_cast<double>(arrivals.size());
    const auto each = static_cast<size_t>(std::max(1.0, std::ceil(mean - 0.25)));
    std::vector<uint32_t>& out = follower.messages;
    std::vector<std::pair<Nanos, uint32_t>> near;
    size_t begin = 0;
    for (size_t a = 0; a < arrivals.size(); ++a) {
      near.clear();
      ForNear(arrivals, quanta, a, edge, spike, begin, [&](uint32_t m, Nanos since) {
        if (taken_[m] != matchings_ && since >= window.first && since <= window.last)
          near.emplace_back(std::abs(since - window.centre), m);
      });
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
  }

  bool OnPath(const std::vector<uint32_t>& messages) const {
    const auto on = std::count_if(messages.begin(), messages.end(),
                                  [&](uint32_t m) { return on_path_[m] > 0; });
    return static_cast<double>(on) >= kCycle * static_cast<double>(messages.size());
  }

  // Whether what arrived at the node's earlier visit on this path is followed by these messages after the time that the
  // path takes: as many more than at other times as there are here. Where chance hides that much, nothing is said.
  bool Supported(const Follower& follower) const {
    const PathStep& here = steps_.back();
    size_t s = steps_.size() - 1;
    do {
      if (--s == 0) return true;
    } while (steps_[s].node != here.node);
    const PathStep& earlier = steps_[s];
    const auto in_ns = [&](double quanta) {
      return static_cast<Nanos>(quanta * static_cast<double>(quantum_));
    };
    const Nanos since = in_ns(here.arrived - earlier.arrived + follower.spike.centre);
    const double own = follower.half_width;
    const Nanos half =
        std::max(quantum_ / 2, in_ns(1.25 * std::sqrt(here.spread - earlier.spread + own * own)));
    // Windows side by side, the middle one around the time in question.
    std::vector<double> counts(2 * kSideWindows + 1);
    const Nanos first = since - half - 2 * half * kSideWindows,
                last = since + half + 2 * half * kSideWindows;
    const std::vector<uint32_t>& effects = trace_.edges[follower.edge].messages;
    size_t begin = 0;
    for (const uint32_t arrival : *earlier.arrivals) {
      const Nanos arrived = trace_.messages[arrival].received_ns;
      const auto after = [&](size_t i) { return trace_.messages[effects[i]].sent_ns - arrived; };
      while (begin < effects.size() && after(begin) < first) ++begin;
      for (size_t i = begin; i < effects.size() && after(i) < last; ++i)
        ++counts[static_cast<size_t>((after(i) - first) / (2 * half))];
    }
    const double in_question = counts[kSideWindows];
    counts.erase(counts.begin() + kSideWindows);
    std::nth_element(counts.begin(), counts.begin() + kSideWindows, counts.end());
    const double background = counts[kSideWindows];
    return in_question - background + std::sqrt(background + 1) >=
           kSupported *
               std::min(follower.spike.excess, static_cast<double>(follower.messages.size()));
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
  std::vector<int64_t> left_;    // of each message: the quantum it left in
  std::vector<Signal> effects_;  // of each edge, by when its messages left
  uint64_t signals_ = 0;
  VisitForest* forest_ = nullptr;
  uint64_t least_ = 0;
  std::vector<PathStep> steps_;
  std::vector<uint16_t> on_path_;  // of each message: edges of the present path that it is on
  std::vector<uint64_t> claimed_;  // of each message: when it was last counted
  uint64_t counted_ = 0;
  std::vector<Claim> claims_;
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
  result.suppressed.ghosts += RemoveGhosts(forest, trace.messages.size());
  MergeSiblings(forest);
  result.suppressed.short_paths += RemoveShortPaths(forest, 4 * least);
  result.correlations = explorer.correlations();
  return forest;
}

}  // namespace wf::paths
