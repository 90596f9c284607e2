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
constexpr size_t kMostParts = 256;  // of a multiset

}  // namespace

namespace {
uint64_t SignatureOfKind(uint32_t kind) { return MixBits(kind + 0x9E3779B97F4A7C15ull); }
}  // namespace

uint64_t Patterns::SignatureOf(const NodeProblem& problem, std::span<const uint32_t> kids) {
  uint64_t signature = 0;  // a sum, so that order does not matter
  for (uint32_t kid : kids) {
    signature += SignatureOfKind(problem.children[kid].kind);
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
  nothing_apart_ = most_from_nothing_ = unseen_;
  most_from_ = numbers_;
  for (auto& histogram : most_from_) {
    for (size_t n = histogram.size() - 1; n-- > 0;) {
      histogram[n] = std::max(histogram[n], histogram[n + 1]);
    }
    most_from_nothing_ += histogram[0];
  }
  for (const auto& histogram : numbers_) nothing_apart_ += histogram[0];
  for (const auto& [signature, seen] : seen_) AddParts(seen.counts, seen.log_share);
}

void Patterns::AddParts(const std::vector<uint32_t>& counts, double score) {
  size_t parts = 1;
  for (uint32_t n : counts) parts = std::min(parts * (n + 1), kMostParts + 1);
  if (parts > kMostParts) {
    most_of_large_ = std::max(most_of_large_, score);
    return;
  }
  std::vector<uint32_t> part(counts.size(), 0);
  uint64_t signature = 0;
  while (true) {
    const auto [at, fresh] = parts_.try_emplace(signature, score);
    if (!fresh) at->second = std::max(at->second, score);
    size_t kind = 0;  // counts up, a digit per kind
    for (; kind < counts.size(); ++kind) {
      if (part[kind] < counts[kind]) break;
      signature -= part[kind] * SignatureOfKind(static_cast<uint32_t>(kind));
      part[kind] = 0;
    }
    if (kind == counts.size()) return;
    ++part[kind];
    signature += SignatureOfKind(static_cast<uint32_t>(kind));
  }
}

// The sum over all kinds, from that of no call at all: kids are few, kinds may be many.
template <typename Table>
double Patterns::SumOver(const NodeProblem& problem, std::span<const uint32_t> kids,
                         const Table& table, double nothing) const {
  double score = nothing;
  for (size_t i = 0; i < kids.size(); ++i) {
    const uint32_t kind = problem.children[kids[i]].kind;
    uint32_t before = 0;
    for (size_t j = 0; j < i; ++j) before += problem.children[kids[j]].kind == kind;
    if (kind >= table.size()) {
      score -= 1;
    } else if (before < kMostCounted) {
      score += table[kind][before + 1] - table[kind][before];
    }
  }
  return score;
}

double Patterns::MostFrom(const NodeProblem& problem, std::span<const uint32_t> kids) const {
  const auto found = parts_.find(SignatureOf(problem, kids));
  const double most =
      std::max(most_of_large_, SumOver(problem, kids, most_from_, most_from_nothing_));
  return found == parts_.end() ? most : std::max(found->second, most);
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
  return SumOver(problem, kids, numbers_, nothing_apart_);
}

}  // namespace wf
