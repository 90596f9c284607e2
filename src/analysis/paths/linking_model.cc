#include "analysis/paths/linking_model.h"

#include <algorithm>
#include <cmath>

namespace wf::paths {
namespace {

constexpr size_t kMostRows = 2000;   // samples per density: more no longer sharpen it
constexpr size_t kFewRows = 8;       // samples that say too little by themselves
constexpr size_t kMostFrequent = 6;  // callees that may be triggers of their own
constexpr double kFrequentShare = 0.02;
constexpr size_t kAmidLookBack = 12;  // calls out for longer than that many later ones say nothing
constexpr double kAmidPrior = 0.5;
constexpr size_t kSlotLookBack = 64;  // calls further back no longer make one the second

// Before anything is known, one call in a hundred outlives its parent's reply.
constexpr double kOutlivesPrior = 0.01;
// Prior: the expected number of calls of a kind, in the whole trace, without a parent.
constexpr double kOrphanPrior = 0.05;
constexpr double kMostOrphans = 0.005;  // of a kind, if each could have a parent
constexpr double kLeastSpanNs = 1e6;
constexpr double kRounding = 1e-6;  // log: a bound must not be passed for that

// How many of the first `before` kids are calls to `kind`.
uint32_t LikeOf(const NodeProblem& problem, std::span<const uint32_t> kids, size_t before,
                uint32_t kind) {
  uint32_t like = 0;
  for (size_t i = before; i-- > 0 && before - i < kSlotLookBack;) {
    like += problem.children[kids[i]].kind == kind;
  }
  return like;
}

}  // namespace

LinkModel::LinkModel(const NodeProblem& problem, const LinkDraws& draws, Repeats repeats,
                     Positions positions, Openness openness)
    : behaviours_(problem.parent_kinds), evidence_(problem, draws) {
  LearnPatterns(problem, draws, positions, openness);
  LearnDelays(problem, draws, repeats, positions, openness);
  LearnOrphans(problem, draws);
}

LinkModel::LinkModel(const NodeProblem& problem, const LinkState& state, const Kernels& kernels)
    : behaviours_(problem.parent_kinds), evidence_(problem, LinkDraws(problem, state)) {
  const LinkDraws draws(problem, state);
  LearnPatterns(problem, draws, Positions::kAlike, Openness::kToTimesAndSets);
  const double broad = 1 / std::max(MeanOpen(problem), kLeastSpanNs);
  for (Behaviour& behaviour : behaviours_) {
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      const TriggerMixture calls(kernels.OfCallsTo(kind), broad);
      behaviour.sends.insert(behaviour.sends.end(), kSlots, calls);
    }
    behaviour.reply = TriggerMixture(kernels.OfReplies(), broad);
    behaviour.side_by_side.assign(problem.child_kinds, 0);
    behaviour.amid = behaviour.alone = std::vector<double>(behaviour.sends.size(), std::log(0.5));
  }
  LearnOrphans(problem, draws);
}

double LinkModel::Score(const NodeProblem& problem, uint32_t parent,
                        std::span<const uint32_t> kids) const {
  double score = WholeScore(problem, parent, kids);
  for (size_t i = 1; i <= kids.size(); ++i) score += LastScore(problem, parent, kids.first(i));
  return score;
}

double LinkModel::LastScore(const NodeProblem& problem, uint32_t parent,
                            std::span<const uint32_t> kids) const {
  const LinkParent& p = problem.parents[parent];
  const Behaviour& behaviour = behaviours_[p.kind];
  const size_t i = kids.size() - 1;
  const LinkChild& kid = problem.children[kids[i]];
  const uint32_t like = LikeOf(problem, kids, i, kid.kind);
  const uint32_t slot = kid.kind * kSlots + std::min(like, kSlots - 1);
  double score = std::log(behaviour.sends[slot].At(problem, {parent, kids, i, kid.sent}));
  if (behaviour.side_by_side[kid.kind] != 0) {
    score += std::log1p(like);  // any of them may have been the last
  } else if (i > 0)
    score += IsAmid(problem, kids, i) ? behaviour.amid[slot] : behaviour.alone[slot];
  if (p.returned && kid.returned) {
    score += kid.ended > p.replied + problem.slack ? behaviour.outlives[kid.kind]
                                                   : behaviour.ends_within[kid.kind];
  }
  return score + evidence_.Score(p, kid);
}

void LinkModel::WhenLast(const NodeProblem& problem, uint32_t parent,
                         std::span<const uint32_t> kids, uint32_t kind, double least,
                         std::vector<TriggerMixture::Span>& spans) const {
  const Behaviour& behaviour = behaviours_[problem.parents[parent].kind];
  const uint32_t like = LikeOf(problem, kids, kids.size(), kind);
  const uint32_t slot = kind * kSlots + std::min(like, kSlots - 1);
  // What else LastScore adds is never more than this.
  double most = evidence_.Most();
  if (behaviour.side_by_side[kind] != 0) most += std::log1p(like);
  behaviour.sends[slot].Where(problem, parent, kids, std::exp(least - most - kRounding), spans);
}

double LinkModel::ReplyScore(const NodeProblem& problem, uint32_t parent,
                             std::span<const uint32_t> kids) const {
  const LinkParent& p = problem.parents[parent];
  if (!p.returned) return 0;
  size_t before_reply = kids.size();
  while (before_reply > 0 &&
         problem.children[kids[before_reply - 1]].sent > p.replied + problem.slack) {
    --before_reply;
  }
  return std::log(behaviours_[p.kind].reply.At(problem, {parent, kids, before_reply, p.replied}));
}

// Whether an earlier call is still out when kids[at] is sent.
bool LinkModel::IsAmid(const NodeProblem& problem, std::span<const uint32_t> kids, size_t at) {
  const Nanos sent = problem.children[kids[at]].sent;
  const size_t first = at > kAmidLookBack ? at - kAmidLookBack : 0;
  for (size_t i = first; i < at; ++i) {
    const LinkChild& kid = problem.children[kids[i]];
    if (kid.returned && kid.ended > sent + problem.slack) return true;
  }
  return false;
}

void LinkModel::LearnPatterns(const NodeProblem& problem, const LinkDraws& draws,
                              Positions positions, Openness openness) {
  const uint32_t kinds = problem.child_kinds;
  std::vector<std::vector<double>> outliving(problem.parent_kinds, std::vector<double>(kinds, 0));
  auto total = outliving;
  for (size_t i = 0; i < draws.size(); ++i) {
    const LinkParent& parent = problem.parents[draws.ParentOf(i)];
    if (!parent.whole) continue;
    Patterns& patterns = behaviours_[parent.kind].patterns;
    patterns.Add(problem, draws.KidsOf(i));
    if (positions == Positions::kApart) patterns.AddOrder(problem, draws.KidsOf(i));
    for (uint32_t kid : draws.KidsOf(i)) {
      const LinkChild& child = problem.children[kid];
      total[parent.kind][child.kind] += 1;
      if (parent.returned && child.returned && child.ended > parent.replied + problem.slack) {
        outliving[parent.kind][child.kind] += 1;
      }
    }
  }
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    behaviours_[k].patterns.Finish(openness == Openness::kToTimesAndSets ? 1 : 0);
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      const double share = (outliving[k][kind] + kOutlivesPrior) / (total[k][kind] + 1);
      behaviours_[k].outlives.push_back(std::log(share));
      behaviours_[k].ends_within.push_back(std::log1p(-share));
    }
  }
}

void LinkModel::LearnDelays(const NodeProblem& problem, const LinkDraws& draws, Repeats repeats,
                            Positions positions, Openness openness) {
  std::vector<std::vector<size_t>> of_kind(problem.parent_kinds);
  for (size_t i = 0; i < draws.size(); ++i) {
    const LinkParent& parent = problem.parents[draws.ParentOf(i)];
    if (parent.whole) of_kind[parent.kind].push_back(i);
  }
  std::vector<uint32_t> seen(problem.child_kinds);
  for (uint32_t k = 0; k < problem.parent_kinds; ++k) {
    const auto& drawn = of_kind[k];
    std::vector<size_t> frequency(problem.child_kinds, 0);
    for (size_t i : drawn) {
      for (uint32_t kid : draws.KidsOf(i)) ++frequency[problem.children[kid].kind];
    }
    std::vector<uint32_t> frequent;
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      if (frequency[kind] > 2 && static_cast<double>(frequency[kind]) >=
                                     kFrequentShare * static_cast<double>(drawn.size())) {
        frequent.push_back(kind);
      }
    }
    std::stable_sort(frequent.begin(), frequent.end(),
                     [&](uint32_t a, uint32_t b) { return frequency[a] > frequency[b]; });
    if (frequent.size() > kMostFrequent) frequent.resize(kMostFrequent);

    const double broad =
        openness == Openness::kUsual ? 0 : 1 / std::max(MeanOpen(problem), kLeastSpanNs);
    const TriggerRows empty(problem, frequent);
    std::vector<TriggerRows> sends(static_cast<size_t>(problem.child_kinds) * kSlots, empty);
    TriggerRows reply = empty;
    std::vector<TriggerRows> together;                 // per child kind, all slots
    std::vector<double> ways(problem.child_kinds, 0);  // log
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      together.emplace_back(problem, frequent, kind);
    }
    std::vector<double> amid(sends.size(), kAmidPrior), later(sends.size(), 2 * kAmidPrior);
    const size_t stride = std::max<size_t>(1, drawn.size() / kMostRows);
    for (size_t n = 0; n < drawn.size(); n += stride) {
      const uint32_t i = draws.ParentOf(drawn[n]);
      const LinkParent& parent = problem.parents[i];
      const std::span<const uint32_t> kids = draws.KidsOf(drawn[n]);
      std::fill(seen.begin(), seen.end(), 0);
      size_t before_reply = 0;
      for (size_t j = 0; j < kids.size(); ++j) {
        const LinkChild& kid = problem.children[kids[j]];
        const uint32_t slot = std::min(seen[kid.kind]++, kSlots - 1);
        const size_t at = kid.kind * kSlots + slot;
        if (seen[kid.kind] <= kMostRows) {
          sends[at].Add(problem, {i, kids, j, kid.sent});
          if (repeats == Repeats::kMayBeSideBySide) {
            together[kid.kind].Add(problem, {i, kids, j, kid.sent});
            ways[kid.kind] += std::log(seen[kid.kind]);
          }
        }
        if (j > 0) {
          later[at] += 1;
          if (IsAmid(problem, kids, j)) amid[at] += 1;
        }
        if (kid.sent <= parent.replied + problem.slack) before_reply = j + 1;
      }
      if (parent.returned) reply.Add(problem, {i, kids, before_reply, parent.replied});
    }
    for (size_t i = 0; i < sends.size(); ++i) {
      TriggerRows rows = sends[i];
      if (positions == Positions::kApart && rows.size() < kFewRows && i % kSlots > 0) {
        // What was hardly ever seen is assumed to be as with other callees: if it were treated as impossible
        // it would never be tried.
        for (size_t j = i % kSlots; j < sends.size(); j += kSlots)
          if (sends[j].size() >= kFewRows) rows.Append(sends[j]);
      }
      behaviours_[k].sends.emplace_back(rows, positions, broad);
      behaviours_[k].amid.push_back(std::log(amid[i] / later[i]));
      behaviours_[k].alone.push_back(std::log1p(-amid[i] / later[i]));
    }
    behaviours_[k].reply = TriggerMixture(reply, positions, broad);
    for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
      behaviours_[k].side_by_side.push_back(0);
      // This needs more than one call.
      if (ways[kind] == 0 || repeats == Repeats::kInOrder) continue;
      double by_slot = 0;
      for (uint32_t at = kind * kSlots; at < (kind + 1) * kSlots; ++at) {
        by_slot += behaviours_[k].sends[at].Fit() - behaviours_[k].sends[at].Cost();
        const double often = later[at] - 2 * kAmidPrior, yes = amid[at] - kAmidPrior;
        by_slot += yes * behaviours_[k].amid[at] + (often - yes) * behaviours_[k].alone[at];
      }
      const TriggerMixture all(together[kind], positions, broad);
      if (all.Fit() - all.Cost() + ways[kind] <= by_slot) continue;
      behaviours_[k].side_by_side[kind] = 1;
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        behaviours_[k].sends[kind * kSlots + slot] = all;
      }
    }
  }
}

void LinkModel::LearnOrphans(const NodeProblem& problem, const LinkDraws& draws) {
  double span = kLeastSpanNs;
  if (!problem.children.empty()) {
    span += static_cast<double>(problem.children.back().sent - problem.children.front().sent);
  }
  std::vector<double> of_kind(problem.child_kinds, 0), alone(problem.child_kinds, 0);
  for (const LinkChild& child : problem.children) {
    of_kind[child.kind] += 1;
    alone[child.kind] += child.candidate_count == 0;
  }
  for (uint32_t kind = 0; kind < problem.child_kinds; ++kind) {
    chance_.push_back(std::log((of_kind[kind] + kOrphanPrior) / span));
    const double most = std::max(kMostOrphans * of_kind[kind], alone[kind]);
    orphan_.push_back(std::log((std::min(draws.orphans[kind], most) + kOrphanPrior) / span));
  }
}

void LinkModel::ForAllKinds(uint32_t parent_kinds) {
  behaviours_.resize(parent_kinds, behaviours_.front());
}

double LinkModel::Cost() const {
  double cost = 0;
  for (const Behaviour& behaviour : behaviours_) {
    cost += behaviour.patterns.Cost() + behaviour.reply.Cost();
    for (const TriggerMixture& send : behaviour.sends) cost += send.Cost();
  }
  return cost;
}

bool LinkModel::AnySideBySide() const {
  return std::any_of(behaviours_.begin(), behaviours_.end(), [](const Behaviour& behaviour) {
    return std::find(behaviour.side_by_side.begin(), behaviour.side_by_side.end(), 1) !=
           behaviour.side_by_side.end();
  });
}

void LinkModel::AllowOrphans(double least) {
  for (size_t kind = 0; kind < orphan_.size(); ++kind) {
    orphan_[kind] = std::max(orphan_[kind], chance_[kind] + least);
  }
}

}  // namespace wf::paths
