#include "analysis/paths/linking_beliefs.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf {
namespace {

constexpr int kRounds = 24;
constexpr double kKeep = 0.4;  // of the last round's wishes, or they swing
constexpr double kLeast = 1e-13, kMost = 30;
constexpr double kSettled = 0.05;

double Uniform(uint64_t& random) {
  random += 0x9E3779B97F4A7C15ull;
  return static_cast<double>(MixBits(random) >> 11) * 0x1p-53;
}

}  // namespace

Beliefs::Beliefs(const NodeProblem& problem, const LinkModel& model,
                 const Explanations& explanations)
    : problem_(&problem), explanations_(&explanations), wanted_by_(problem.children.size()) {
  for (uint32_t child = 0; child < problem.children.size(); ++child) {
    base_ += model.ChanceScore(problem, child);
    orphan_.push_back(
        std::exp(model.OrphanScore(problem, child) - model.ChanceScore(problem, child)));
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
          claims_.push_back({kid, parent, 0, 0});
        }
        claim_of_.push_back(claim_at[kid]);
      }
    }
    claims_end_.push_back(claims_.size());
  }
  belief_.resize(explanations.size());
  free_.resize(problem.parents.size());
  for (int round = 0; round < kRounds; ++round) {
    if (Pass(round == 0 ? 0 : kKeep) < kSettled) break;
  }
  total_ = FindTotal();
}

double Beliefs::Pass(double keep) {
  double change = 0;
  size_t at = 0, kid_at = 0;
  std::vector<double> in;
  for (uint32_t parent = 0; parent + 1 < claims_end_.size(); ++parent) {
    const size_t first = claims_end_[parent], last = claims_end_[parent + 1];
    const auto all = explanations_->Of(parent);
    double most = -1e300;
    size_t k = kid_at;
    for (size_t e = 0; e < all.size(); ++e) {
      double log = all[e].gain;
      for (uint32_t i = 0; i < all[e].count; ++i) log += claims_[claim_of_[k++]].price;
      belief_[at + e] = log;
      most = std::max(most, log);
    }
    double sum = 0;
    for (size_t e = 0; e < all.size(); ++e)
      sum += belief_[at + e] = std::exp(belief_[at + e] - most);
    in.assign(last - first, 0);
    k = kid_at;
    for (size_t e = 0; e < all.size(); ++e) {
      belief_[at + e] /= sum;
      for (uint32_t i = 0; i < all[e].count; ++i) in[claim_of_[k++] - first] += belief_[at + e];
    }
    free_[parent] = most + std::log(sum);
    for (size_t c = first; c < last; ++c) {
      Claim& claim = claims_[c];
      const double share = in[c - first];
      const double odds =
          std::clamp(std::log(std::max(share, kLeast) / std::max(1 - share, kLeast)) - claim.price,
                     -kMost, kMost);
      const double wish = keep * claim.wish + (1 - keep) * odds;
      change = std::max(change, std::abs(wish - claim.wish));
      claim.wish = wish;
    }
    at += all.size();
    kid_at = k;
  }
  for (uint32_t child = 0; child < wanted_by_.size(); ++child) {
    const auto& wanted = wanted_by_[child];
    double sum = orphan_[child];
    for (uint32_t c : wanted) sum += std::exp(claims_[c].wish);
    for (uint32_t c : wanted) {
      claims_[c].price = -std::log(std::max(sum - std::exp(claims_[c].wish), kLeast));
    }
  }
  return change;
}

double Beliefs::FindTotal() const {
  double total = base_;
  for (double sum : free_) total += sum;
  for (uint32_t child = 0; child < wanted_by_.size(); ++child) {
    double sum = orphan_[child];
    for (uint32_t c : wanted_by_[child]) sum += std::exp(claims_[c].wish);
    total += std::log(sum);
  }
  for (const Claim& claim : claims_) total -= std::log1p(std::exp(claim.wish + claim.price));
  return total;
}

LinkDraws Beliefs::Draw(size_t times, uint64_t seed) const {
  LinkDraws draws;
  draws.orphans.assign(problem_->child_kinds, 0);
  draws.parent_of.assign(problem_->children.size(), kNoParent);
  for (uint32_t child = 0; child < wanted_by_.size(); ++child) {
    double sum = orphan_[child];
    for (uint32_t c : wanted_by_[child]) sum += std::exp(claims_[c].wish);
    draws.orphans[problem_->children[child].kind] += orphan_[child] / sum;
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
  for (uint32_t c : wanted_by_[child]) add(claims_[c].parent, std::exp(claims_[c].wish));
  add(kNoParent, orphan_[child]);
  for (Candidate& candidate : all) candidate.p /= sum;
  std::stable_sort(all.begin() + 1, all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.p > b.p; });
  return all;
}

}  // namespace wf
