#include "analysis/paths/linking_explanations.h"

#include <algorithm>
#include <array>

namespace wf::paths {
namespace {

constexpr size_t kMostGrown = 160;  // sets of one size that are extended
constexpr size_t kMostKept = 160;   // explanations of a parent
constexpr double kFarLess = 11;     // log
constexpr double kMostOfOne = 14;   // log: what one child's time may add
constexpr double kMayCome = 4;      // log: what children still to come may add

// With more possible children than this, the times at which the next one may have been sent are computed
// first.
constexpr std::ptrdiff_t kFewChildren = 8;

// What a call to one callee would add to a set, as far as that does not depend on the call itself.
struct NextOfKind {
  uint64_t of_set = 0;
  double hope = 0;
  bool any_time = true;
  std::vector<TriggerMixture::Span> spans;  // else only then

  bool MayBeAt(Nanos time) const {
    const auto at = static_cast<double>(time);
    return any_time ||
           std::any_of(spans.begin(), spans.end(), [at](const TriggerMixture::Span& span) {
             return at >= span.from && at <= span.to;
           });
  }
};

// A set of children that is being built up. Sets are many and small, so that they hold their children themselves.
struct Grown {
  double gain = 0;  // without what is added at the end of the set
  double hope = 0;  // with the max that can be added
  std::array<uint32_t, Explanations::kMostKids + 1> kids{};
  size_t size = 0;

  std::span<const uint32_t> Kids() const { return {kids.data(), size}; }
};

struct Better {
  bool operator()(const Grown& a, const Grown& b) const {
    if (a.hope != b.hope) return a.hope > b.hope;
    return std::lexicographical_compare(a.Kids().begin(), a.Kids().end(), b.Kids().begin(),
                                        b.Kids().end());
  }
};

}  // namespace

Explanations::Explanations(const NodeProblem& problem, const LinkModel& model, size_t most_kids) {
  std::vector<std::vector<uint32_t>> in_question(problem.parents.size());
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    for (uint32_t parent : problem.CandidatesOf(child)) in_question[parent].push_back(child);
  }
  std::vector<Grown> now, next, whole;
  std::vector<NextOfKind> next_of_kind(problem.child_kinds);
  uint64_t set = 0;
  // The max that a reply has added so far: what a set may still gain.
  std::vector<double> most_of_reply(problem.parent_kinds, -1e300);
  for (uint32_t parent = 0; parent < problem.parents.size(); ++parent) {
    const std::vector<uint32_t>& children = in_question[parent];
    whole.clear();
    now.assign(1, Grown{});
    double best = -1e300;
    double& most_reply = most_of_reply[problem.parents[parent].kind];
    while (!now.empty()) {
      for (const Grown& grown : now) {
        whole.push_back(grown);
        const double reply = model.ReplyScore(problem, parent, grown.Kids());
        most_reply = std::max(most_reply, reply);
        whole.back().gain += reply + model.PatternScore(problem, parent, grown.Kids());
        whole.back().hope = whole.back().gain;
        best = std::max(best, whole.back().gain);
      }
      next.clear();
      double most = -1e300;
      for (Grown& grown : now) {
        if (grown.size == most_kids) continue;
        const auto begin = grown.size == 0 ? children.begin()
                                           : std::upper_bound(children.begin(), children.end(),
                                                              grown.kids[grown.size - 1]);
        const double gain = grown.gain;
        const bool many = children.end() - begin > kFewChildren;
        ++grown.size;
        ++set;
        for (auto at = begin; at != children.end(); ++at) {
          grown.kids[grown.size - 1] = *at;
          const LinkChild& child = problem.children[*at];
          NextOfKind& of_kind = next_of_kind[child.kind];
          const double least = std::max(most, best - kMayCome) - kFarLess;
          if (of_kind.of_set != set) {
            of_kind.of_set = set;
            of_kind.hope = model.MostFrom(problem, parent, grown.Kids()) + most_reply;
            of_kind.any_time = !many;
            of_kind.spans.clear();
            if (many && gain + of_kind.hope + kMostOfOne >= least) {
              model.WhenLast(problem, parent, grown.Kids().first(grown.size - 1), child.kind,
                             least - gain - of_kind.hope + model.ChanceScore(problem, *at),
                             of_kind.spans);
            }
          }
          grown.hope = of_kind.hope;
          // Before the times are looked at: the calls alone may rule it out.
          if (gain + grown.hope + kMostOfOne < least || !of_kind.MayBeAt(child.sent)) continue;
          grown.gain = gain + model.LastScore(problem, parent, grown.Kids()) -
                       model.ChanceScore(problem, *at);
          grown.hope += grown.gain;
          if (grown.hope < least) continue;
          most = std::max(most, grown.hope);
          next.push_back(grown);
        }
      }
      std::erase_if(next, [&](const Grown& grown) { return grown.hope < most - kFarLess; });
      if (next.size() > kMostGrown) {
        std::nth_element(next.begin(), next.begin() + kMostGrown, next.end(), Better());
        next.resize(kMostGrown);
      }
      std::swap(now, next);
    }
    std::sort(whole.begin(), whole.end(), Better());
    for (size_t i = 0; i < whole.size(); ++i) {
      // Nothing at all is always possible: others may take everything.
      const bool likely = i < kMostKept && whole[i].gain >= best - kFarLess;
      if (!likely && whole[i].size > 0) continue;
      all_.push_back({whole[i].gain, static_cast<uint32_t>(kids_.size()),
                      static_cast<uint32_t>(whole[i].size)});
      kids_.insert(kids_.end(), whole[i].Kids().begin(), whole[i].Kids().end());
    }
    ends_.push_back(all_.size());
  }
}

}  // namespace wf::paths
