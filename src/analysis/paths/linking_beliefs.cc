#include "analysis/paths/linking_beliefs.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf::paths {
namespace {

constexpr int kRounds = 24;
constexpr double kKeep = 0.4;  // of the last round's wishes, or they swing
constexpr double kLeast = 1e-200, kMost = 400;
constexpr double kTooFew = 1e-3;
// Messages that grow without end, where wishes and children do not balance, must not drown all others.
constexpr double kFullLeast = 1e-13, kFullMost = 30;
constexpr double kSettled = 0.05;
constexpr int kMostSteps = 12;
constexpr double kMostStep = 6, kSettledCost = 0.003;

// The share of a child that a wish gets: p / sqrt(1 - p) = odds. (With p = odds a child and two parents that each could do
// with another one would be sure of the likelier way, as belief propagation is; with p / (1 - p) = odds they would be less
// sure than they should. This is right for them.)
double HalfShareOf(double log_odds) {
  return 2 / (1 + std::sqrt(1 + 4 * std::exp(std::min(-2 * log_odds, 600.0))));
}

// log(1 - HalfShareOf): (p / odds)², which subtraction would lose.
double LogOfRest(double log_odds) { return 2 * (std::log(HalfShareOf(log_odds)) - log_odds); }

double Uniform(uint64_t& random) {
  random += 0x9E3779B97F4A7C15ull;
  return static_cast<double>(MixBits(random) >> 11) * 0x1p-53;
}

}  // namespace

Beliefs::Beliefs(const NodeProblem& problem, const LinkModel& model,
                 const Explanations& explanations, Sureness sureness)
    : sureness_(sureness),
      problem_(&problem),
      explanations_(&explanations),
      wanted_by_(problem.children.size()) {
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    base_ += model.ChanceScore(problem, child);
    orphan_.push_back(model.OrphanScore(problem, child) - model.ChanceScore(problem, child));
  }
  std::vector<uint32_t> claim_at(problem.children.size(), UINT32_MAX);
  claims_end_.push_back(0);
  for (uint32_t parent = 0; parent < problem.parents.size(); ++parent) {
    const size_t first = claims_.size();
    for (const Explanations::One& one : explanations.Of(parent)) {
      for (uint32_t kid : explanations.KidsOf(one)) {
        if (claim_at[kid] == UINT32_MAX || claim_at[kid] < first) {
          claim_at[kid] = static_cast<uint32_t>(claims_.size());
          wanted_by_[kid].push_back(claim_at[kid]);
          claims_.push_back({kid, parent, 0, 0, 0});
        }
        claim_of_.push_back(claim_at[kid]);
      }
    }
    claims_end_.push_back(claims_.size());
  }
  cost_.resize(problem.children.size(), 0);
  belief_.resize(explanations.size());
  free_.resize(problem.parents.size());
  for (int round = 0; round < kRounds; ++round) {
    if (Pass(round == 0 ? 0 : kKeep) < kSettled) break;
  }
  total_ = FindTotal();
}

double Beliefs::Pass(double keep) {
  const double most = sureness_ == Sureness::kFull ? kFullMost : kMost;
  double change = 0;
  size_t at = 0, kid_at = 0;
  std::vector<double> in;
  for (uint32_t parent = 0; parent + 1 < claims_end_.size(); ++parent) {
    const size_t first = claims_end_[parent], last = claims_end_[parent + 1];
    const auto all = explanations_->Of(parent);
    double likeliest = -1e300;
    size_t k = kid_at;
    for (size_t e = 0; e < all.size(); ++e) {
      double log = all[e].gain;
      for (uint32_t i = 0; i < all[e].count; ++i) log += claims_[claim_of_[k++]].price;
      belief_[at + e] = log;
      likeliest = std::max(likeliest, log);
    }
    double sum = 0;
    for (size_t e = 0; e < all.size(); ++e)
      sum += belief_[at + e] = std::exp(belief_[at + e] - likeliest);
    in.assign(last - first, 0);
    k = kid_at;
    for (size_t e = 0; e < all.size(); ++e) {
      belief_[at + e] /= sum;
      for (uint32_t i = 0; i < all[e].count; ++i) in[claim_of_[k++] - first] += belief_[at + e];
    }
    free_[parent] = likeliest + std::log(sum);
    for (size_t c = first; c < last; ++c) {
      Claim& claim = claims_[c];
      const double share = claim.share = in[c - first];
      double rest = 1 - share;
      if (sureness_ == Sureness::kFull) {
        rest = std::max(rest, kFullLeast);
      } else if (rest < kTooFew) {
        rest = BeliefWithout(parent, static_cast<uint32_t>(c), at, kid_at);
      }
      const double odds =
          std::clamp(std::log(std::max(share, sureness_ == Sureness::kFull ? kFullLeast : kLeast) /
                              std::max(rest, kLeast)) -
                         claim.price,
                     -most, most);
      const double wish = keep * claim.wish + (1 - keep) * odds;
      change = std::max(change, std::abs(wish - claim.wish));
      claim.wish = wish;
    }
    at += all.size();
    kid_at = k;
  }
  for (uint32_t child = 0; child < wanted_by_.size(); ++child) Settle(child);
  return change;
}

// The belief that remains for explanations without a claim: too small to be computed by subtraction.
double Beliefs::BeliefWithout(uint32_t parent, uint32_t claim, size_t at, size_t kid_at) const {
  double sum = 0;
  for (const Explanations::One& one : explanations_->Of(parent)) {
    bool without = true;
    for (uint32_t i = 0; i < one.count; ++i) without &= claim_of_[kid_at++] != claim;
    if (without) sum += belief_[at];
    ++at;
  }
  return sum;
}

// Finds the child's price, so that its shares add up to one parent.
void Beliefs::Settle(uint32_t child) {
  const auto& wanted = wanted_by_[child];
  double& cost = cost_[child];
  if (sureness_ == Sureness::kFull) {
    double sum = std::exp(orphan_[child]);
    for (uint32_t c : wanted) sum += std::exp(claims_[c].wish);
    cost = std::log(sum);
    for (uint32_t c : wanted) {
      claims_[c].price = -std::log(std::max(sum - std::exp(claims_[c].wish), kFullLeast));
    }
    return;
  }
  for (int step = 0; step < kMostSteps; ++step) {
    double taken = ShareOf(orphan_[child] - cost);
    for (uint32_t c : wanted) taken += ShareOf(claims_[c].wish - cost);
    // Shares fall with the cost, by its logarithm or by half of that: the step never falls short by more than half.
    const double off = std::log(taken);
    cost += off > 0 ? std::min(2 * off, kMostStep) : std::max(1.2 * off, -kMostStep);
    if (std::abs(off) < kSettledCost) break;
  }
  for (uint32_t c : wanted) {
    Claim& claim = claims_[c];
    const double odds = claim.wish - cost;
    claim.price = -cost - 0.5 * LogOfRest(odds);
  }
}

double Beliefs::ShareOf(double log_odds) const {
  return sureness_ == Sureness::kFull ? std::exp(std::min(log_odds, 0.0)) : HalfShareOf(log_odds);
}

double Beliefs::FindTotal() const {
  double total = base_;
  for (double sum : free_) total += sum;
  if (sureness_ == Sureness::kFull) {
    for (double cost : cost_) total += cost;
    for (const Claim& claim : claims_) total -= std::log1p(std::exp(claim.wish + claim.price));
    return total;
  }
  const auto whole = [](double share) {
    return share >= 1 ? 0.0 : (1 - share) * std::log1p(-share);
  };
  for (const Claim& claim : claims_) {
    total += 0.5 * whole(claim.share) - claim.share * claim.price;
  }
  for (uint32_t child = 0; child < cost_.size(); ++child) {
    const double none = ShareOf(orphan_[child] - cost_[child]);
    total += none * (orphan_[child] - std::log(std::max(none, kLeast))) - 0.5 * whole(none);
  }
  return total;
}

LinkDraws Beliefs::Draw(size_t times, uint64_t seed) const {
  LinkDraws draws;
  draws.orphans.assign(problem_->child_kinds, 0);
  draws.parent_of.assign(problem_->children.size(), kNoParent);
  for (uint32_t child = 0; child < wanted_by_.size(); ++child) {
    draws.orphans[problem_->children[child].kind] += ShareOf(orphan_[child] - cost_[child]);
  }
  size_t at = 0;
  uint64_t random = seed;
  for (uint32_t parent = 0; parent < problem_->parents.size(); ++parent) {
    const auto all = explanations_->Of(parent);
    for (size_t n = 0; n < times; ++n) {
      double pick = Uniform(random);
      size_t e = 0;
      while (e + 1 < all.size() && (pick -= belief_[at + e]) > 0) ++e;
      const auto kids = explanations_->KidsOf(all[e]);
      draws.Add(parent, kids);
      if (n == 0)
        for (uint32_t kid : kids) draws.parent_of[kid] = parent;
    }
    at += all.size();
  }
  return draws;
}

LinkState Beliefs::Decide() const {
  struct Choice {
    double belief = 0;
    uint32_t parent = 0;
    uint32_t which = 0;
  };
  std::vector<Choice> choices;
  size_t at = 0;
  for (uint32_t parent = 0; parent < problem_->parents.size(); ++parent) {
    const auto all = explanations_->Of(parent);
    for (uint32_t e = 0; e < all.size(); ++e) choices.push_back({belief_[at + e], parent, e});
    at += all.size();
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.belief > b.belief; });
  LinkState state(*problem_);
  std::vector<uint8_t> decided(problem_->parents.size(), 0);
  for (const Choice& choice : choices) {
    if (decided[choice.parent]) continue;
    const auto kids = explanations_->KidsOf(explanations_->Of(choice.parent)[choice.which]);
    if (std::any_of(kids.begin(), kids.end(),
                    [&](uint32_t kid) { return state.parent_of[kid] != kNoParent; }))
      continue;
    decided[choice.parent] = 1;
    for (uint32_t kid : kids) state.Append(choice.parent, kid);
  }
  return state;
}

std::vector<Candidate> Beliefs::Weigh(uint32_t child, uint32_t chosen) const {
  std::vector<Candidate> all{{chosen, kLeast}};
  double sum = kLeast;
  const auto add = [&](uint32_t parent, double odds) {
    sum += odds;
    if (parent == chosen) {
      all[0].p += odds;
    } else {
      all.push_back({parent, odds});
    }
  };
  for (uint32_t c : wanted_by_[child])
    add(claims_[c].parent, ShareOf(claims_[c].wish - cost_[child]));
  add(kNoParent, ShareOf(orphan_[child] - cost_[child]));
  for (Candidate& candidate : all) candidate.p /= sum;
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.p > b.p; });
  return all;
}

}  // namespace wf::paths
