#include "analysis/paths/linking_kernels.h"

#include <algorithm>
#include <numeric>

namespace wf::paths {
namespace {

constexpr int kKernelRounds = 20;
constexpr size_t kMostBefore = 512;  // returns before an event, and arrivals: the latest
// Chance is estimated from the same events at other times: shifted by these parts of a parent's mean
// duration.
constexpr double kShifts[] = {0.37, -0.41};
constexpr double kPartsOfOpen[] = {0.1, 0.3, 0.5, 0.7, 0.9};

struct Pair {
  uint32_t event = 0;
  double delay = 0, chance = 1, belief = 1;
};

// One kind of event as the cause of another.
struct Kernel {
  std::vector<Pair> pairs;
  std::vector<double> by_chance;  // delays

  void Sort() {
    std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
      return a.delay != b.delay ? a.delay < b.delay : a.event < b.event;
    });
    std::sort(by_chance.begin(), by_chance.end());
    std::vector<WeightedDelay> samples;
    for (double delay : by_chance) samples.push_back({delay, 1});
    const DelayDensity density(samples, DelayDensity::Fit::kBins);
    for (Pair& pair : pairs) pair.chance = density.At(pair.delay);
  }
  std::vector<WeightedDelay> Samples() const {
    std::vector<WeightedDelay> samples;
    samples.reserve(pairs.size());
    for (const Pair& pair : pairs) samples.push_back({pair.delay, pair.belief});
    return samples;
  }
};

// All that may cause events of one kind: arrivals, and returns per child kind.
struct Target {
  size_t events = 0;
  std::vector<Kernel> kernels;

  explicit Target(uint32_t child_kinds) : kernels(1 + child_kinds) {}
  Kernel& Arrivals() { return kernels[0]; }
  Kernel& Returns(uint32_t kind) { return kernels[1 + kind]; }

  void Learn() {
    for (Kernel& kernel : kernels) kernel.Sort();
    std::vector<double> sum(events);
    for (int round = 0; round < kKernelRounds; ++round) {
      std::fill(sum.begin(), sum.end(), 0);
      for (Kernel& kernel : kernels) {
        if (kernel.pairs.empty() || kernel.by_chance.empty()) continue;
        const std::vector<WeightedDelay> samples = kernel.Samples();
        const double often =
            std::accumulate(samples.begin(), samples.end(), 0.0,
                            [](double all, const WeightedDelay& s) { return all + s.weight; }) /
            static_cast<double>(kernel.by_chance.size());
        const DelayDensity density(samples, DelayDensity::Fit::kBins);
        for (Pair& pair : kernel.pairs) {
          pair.belief = often * density.At(pair.delay) / pair.chance;
          sum[pair.event] += pair.belief;
        }
      }
      for (Kernel& kernel : kernels) {
        for (Pair& pair : kernel.pairs) pair.belief /= std::max(sum[pair.event], 1e-300);
      }
    }
  }
};

// The pairs of all events with what may have caused them.
class KernelCollector {
 public:
  explicit KernelCollector(const NodeProblem& problem)
      : problem_(problem), mean_(MeanOpen(problem)) {
    for (const LinkChild& child : problem.children) {
      if (child.returned) returns_.push_back({child.ended, child.sent, child.kind});
    }
    std::sort(returns_.begin(), returns_.end(), [](const Return& a, const Return& b) {
      return a.ended != b.ended ? a.ended < b.ended : a.sent < b.sent;
    });
  }

  // Calls act(kind, delay) for the returns of calls made since `from`, the latest first.
  template <typename Act>
  void ForReturns(Nanos from, Nanos until, Act&& act) const {
    auto at = std::upper_bound(returns_.begin(), returns_.end(), until,
                               [](Nanos time, const Return& r) { return time < r.ended; });
    for (size_t n = 0; n < kMostBefore && at != returns_.begin() && (--at)->ended >= from; ++n) {
      if (at->sent >= from) act(at->kind, static_cast<double>(until - at->ended));
    }
  }

  void AddCall(uint32_t child, Target& target) const {
    const LinkChild& call = problem_.children[child];
    const auto event = static_cast<uint32_t>(target.events++);
    Nanos first = call.sent;
    for (uint32_t parent : problem_.CandidatesOf(child)) {
      const Nanos opened = problem_.parents[parent].opened;
      target.Arrivals().pairs.push_back({event, static_cast<double>(call.sent - opened), 1, 1});
      first = std::min(first, opened);
    }
    ForReturns(first, call.sent, [&](uint32_t kind, double delay) {
      target.Returns(kind).pairs.push_back({event, delay, 1, 1});
    });
    const Nanos then = call.sent + Shift(child);
    first = then;
    auto at = std::upper_bound(problem_.parents.begin(), problem_.parents.end(), then,
                               [](Nanos time, const LinkParent& p) { return time < p.opened; });
    for (size_t n = 0; n < kMostBefore && at != problem_.parents.begin() &&
                       (--at)->opened >= then - problem_.longest;) {
      if (problem_.ClosesAt(*at) < then) continue;
      ++n;
      target.Arrivals().by_chance.push_back(static_cast<double>(then - at->opened));
      first = at->opened;
    }
    AddChance(first, then, target);
  }

  void AddReply(uint32_t index, Target& target) const {
    const LinkParent& parent = problem_.parents[index];
    const auto event = static_cast<uint32_t>(target.events++);
    const auto open = static_cast<double>(parent.replied - parent.opened);
    target.Arrivals().pairs.push_back({event, open, 1, 1});
    for (double part : kPartsOfOpen) target.Arrivals().by_chance.push_back(part * open);
    ForReturns(parent.opened, parent.replied, [&](uint32_t kind, double delay) {
      target.Returns(kind).pairs.push_back({event, delay, 1, 1});
    });
    AddChance(parent.opened + Shift(index), parent.replied + Shift(index), target);
  }

 private:
  struct Return {
    Nanos ended = 0, sent = 0;
    uint32_t kind = 0;
  };
  Nanos Shift(uint32_t number) const {
    return static_cast<Nanos>(kShifts[number % std::size(kShifts)] * mean_);
  }
  void AddChance(Nanos from, Nanos until, Target& target) const {
    ForReturns(from, until, [&](uint32_t kind, double delay) {
      target.Returns(kind).by_chance.push_back(delay);
    });
  }

  const NodeProblem& problem_;
  double mean_;                  // how long parents are open
  std::vector<Return> returns_;  // by ended
};

}  // namespace

Kernels::Kernels(const NodeProblem& problem) {
  std::vector<Target> targets(problem.child_kinds + 1, Target(problem.child_kinds));
  const KernelCollector collector(problem);
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    collector.AddCall(child, targets[problem.children[child].kind]);
  }
  for (uint32_t parent = 0; parent < problem.parents.size(); ++parent) {
    if (problem.parents[parent].returned) collector.AddReply(parent, targets.back());
  }
  for (Target& target : targets) {
    target.Learn();
    auto& causes = causes_.emplace_back();
    causes.push_back({Trigger::kArrival, 0, target.Arrivals().Samples()});
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      causes.push_back({Trigger::kReturnOf, kind, target.Returns(kind).Samples()});
    }
  }
}

}  // namespace wf::paths
