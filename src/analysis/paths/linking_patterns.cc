#include "analysis/paths/linking_patterns.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace wf::paths {
namespace {

constexpr uint32_t kMostCounted = 16;  // calls to one callee; more are like that many
// This share of parents is expected to do what no parent was seen to do: calls are lost, and samples are small.
constexpr double kUnseenShare = 0.02;
constexpr double kNumberPrior = 0.5;
// With less, a number of calls that is considered impossible in the first rounds is never tried later.
constexpr double kNumberShare = 0.01;
constexpr size_t kMostParts = 256;   // of a multiset
constexpr size_t kMostOrdered = 16;  // calls; of more no order is learnt
constexpr double kOrderPrior = 1;    // observations, spread over all orders

}  // namespace

namespace {
uint64_t SignatureOfKind(uint32_t kind) { return MixBits(kind + 0x9E3779B97F4A7C15ull); }

// Whether calls go to more than one callee.
bool AnyOrder(const NodeProblem& problem, std::span<const uint32_t> kids) {
  return std::any_of(kids.begin(), kids.end(), [&](uint32_t kid) {
    return problem.children[kid].kind != problem.children[kids[0]].kind;
  });
}

// A multiset, and which of it is called first.
uint64_t WithFirst(const NodeProblem& problem, std::span<const uint32_t> kids, uint64_t signature) {
  return MixBits(signature ^ SignatureOfKind(problem.children[kids[0]].kind));
}

// The order of calls made one after another. 0: they are not serial.
uint64_t SequenceOf(const NodeProblem& problem, std::span<const uint32_t> kids) {
  if (kids.size() > kMostOrdered) return 0;
  uint64_t sequence = 0;
  for (size_t i = 0; i < kids.size(); ++i) {
    const LinkChild& kid = problem.children[kids[i]];
    sequence = MixBits(sequence + SignatureOfKind(kid.kind));
    if (i == 0) continue;
    const LinkChild& before = problem.children[kids[i - 1]];
    if (!before.returned || before.ended > kid.sent + problem.slack) return 0;
  }
  return sequence;
}
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

void Patterns::AddOrder(const NodeProblem& problem, std::span<const uint32_t> kids) {
  if (!AnyOrder(problem, kids)) return;
  const uint64_t signature = SignatureOf(problem, kids);
  const uint64_t begun = WithFirst(problem, kids, signature);
  orders_[signature] += 1;
  orders_[begun] += 1;
  const uint64_t sequence = SequenceOf(problem, kids);
  if (sequence == 0) return;
  orders_[MixBits(begun)] += 1;
  orders_[sequence] += 1;
}

void Patterns::Finish(double unseen) {
  const double smoothing = 1 + std::max(unseen, kUnseenShare) * parents_;
  unseen_ = std::log(smoothing / (parents_ + smoothing));
  const double numbers = kNumberPrior + std::max(unseen, kNumberShare) * parents_;
  for (auto& histogram : numbers_) {
    for (size_t n = 0; n < histogram.size(); ++n) {
      // Numbers not seen share some observations, the greater the less.
      const double prior = numbers * std::pow(0.5, static_cast<double>(n) + 1);
      histogram[n] = std::log((histogram[n] + prior) / (parents_ + numbers));
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

double Patterns::Cost() const {
  return 0.5 * std::log1p(parents_) * static_cast<double>(seen_.size());
}

double Patterns::OrderScore(const NodeProblem& problem, std::span<const uint32_t> kids,
                            uint64_t signature) const {
  if (orders_.empty() || !AnyOrder(problem, kids)) return 0;
  const auto often = [this](uint64_t key) {
    const auto found = orders_.find(key);
    return found == orders_.end() ? 0.0 : found->second;
  };
  const auto chance = [&](uint64_t key, uint64_t among, double unseen) {
    return std::log((often(key) + kOrderPrior * unseen) / (often(among) + kOrderPrior));
  };
  const uint64_t begun = WithFirst(problem, kids, signature);
  double like_first = 0;
  for (uint32_t kid : kids) {
    like_first += problem.children[kid].kind == problem.children[kids[0]].kind;
  }
  const double score = chance(begun, signature, like_first / static_cast<double>(kids.size()));
  const uint64_t sequence = SequenceOf(problem, kids);
  if (sequence == 0) return score;
  double orders = 1;  // of those after the first
  for (size_t i = 1; i < kids.size(); ++i) {
    const uint32_t kind = problem.children[kids[i]].kind;
    double like = 1;
    for (size_t j = 1; j < i; ++j) like += problem.children[kids[j]].kind == kind;
    orders *= static_cast<double>(i) / like;
  }
  return score + chance(sequence, MixBits(begun), 1 / orders);
}

double Patterns::Score(const NodeProblem& problem, std::span<const uint32_t> kids) const {
  const uint64_t signature = SignatureOf(problem, kids);
  const auto found = seen_.find(signature);
  return OrderScore(problem, kids, signature) +
         (found != seen_.end() ? found->second.log_share
                               : SumOver(problem, kids, numbers_, nothing_apart_));
}

}  // namespace wf::paths
