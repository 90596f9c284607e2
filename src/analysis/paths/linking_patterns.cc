#include "analysis/paths/linking_patterns.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf {
namespace {

constexpr uint32_t kMostCounted = 16;  // calls to one callee; more are like that many
// This share of parents is expected to do what no parent was seen to do: calls are lost, and samples are small.
constexpr double kUnseenShare = 0.02;
constexpr double kNumberPrior = 0.5;

}  // namespace

uint64_t Patterns::SignatureOf(const NodeProblem& problem, std::span<const uint32_t> kids) {
  uint64_t signature = 0;  // a sum, so that order does not matter
  for (uint32_t kid : kids) {
    signature += MixBits(problem.children[kid].kind + 0x9E3779B97F4A7C15ull);
  }
  return signature;
}

void Patterns::Add(const NodeProblem& problem, std::span<const uint32_t> kids) {
  Seen& seen = seen_[SignatureOf(problem, kids)];
  seen.log_share += 1;
  parents_ += 1;
  if (seen.counts.empty()) {
    seen.counts.assign(problem.child_kinds, 0);
    for (uint32_t kid : kids) ++seen.counts[problem.children[kid].kind];
    numbers_.resize(problem.child_kinds, std::vector<double>(kMostCounted + 1, 0));
  }
  for (uint32_t kind = 0; kind < seen.counts.size(); ++kind) {
    numbers_[kind][std::min(seen.counts[kind], kMostCounted)] += 1;
  }
}

void Patterns::Finish() {
  const double smoothing = 1 + kUnseenShare * parents_;
  unseen_ = std::log(smoothing / (parents_ + smoothing));
  for (auto& histogram : numbers_) {
    for (size_t n = 0; n < histogram.size(); ++n) {
      // Numbers not seen share half an observation, the greater the less.
      const double prior = kNumberPrior * std::pow(0.5, static_cast<double>(n) + 1);
      histogram[n] = std::log((histogram[n] + prior) / (parents_ + kNumberPrior));
    }
  }
  for (auto& [signature, seen] : seen_) {
    const double whole = std::log(seen.log_share / (parents_ + smoothing));
    seen.log_share = std::max(whole, ScoreApart(seen.counts));
  }
}

double Patterns::ScoreApart(std::span<const uint32_t> counts) const {
  double score = unseen_;
  for (uint32_t kind = 0; kind < counts.size(); ++kind) {
    score += kind < numbers_.size() ? numbers_[kind][std::min(counts[kind], kMostCounted)]
                                    : -static_cast<double>(counts[kind]);
  }
  return score;
}

double Patterns::Score(const NodeProblem& problem, std::span<const uint32_t> kids) const {
  const auto found = seen_.find(SignatureOf(problem, kids));
  if (found != seen_.end()) return found->second.log_share;
  std::vector<uint32_t> counts(problem.child_kinds, 0);
  for (uint32_t kid : kids) ++counts[problem.children[kid].kind];
  return ScoreApart(counts);
}

}  // namespace wf
