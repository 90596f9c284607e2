// Which calls parents of one kind make: multisets of callees, by how often they were seen; which callee is
// called first; and the order of serial calls, where each is made after the previous one returned.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "analysis/paths/linking_problem.h"

namespace wf::paths {

class Patterns {
 public:
  void Add(const NodeProblem& problem, std::span<const uint32_t> kids);
  void AddOrder(const NodeProblem& problem, std::span<const uint32_t> kids);  // if order counts
  // Call no Add after this. `unseen`: unseen sets get at least this share of the weight of those seen.
  void Finish(double unseen = 0);
  double Score(const NodeProblem& problem, std::span<const uint32_t> kids) const;
  // Description length of the frequencies: half the logarithm of the number of parents for each.
  double Cost() const;
  // Upper bound of the score of anything that begins with these.
  double MostFrom(const NodeProblem& problem, std::span<const uint32_t> kids) const;

 private:
  void AddParts(const std::vector<uint32_t>& counts, double score);
  static uint64_t SignatureOf(const NodeProblem& problem, std::span<const uint32_t> kids);
  double ScoreApart(std::span<const uint32_t> counts) const;
  double OrderScore(const NodeProblem& problem, std::span<const uint32_t> kids,
                    uint64_t signature) const;
  template <typename Table>
  double SumOver(const NodeProblem& problem, std::span<const uint32_t> kids, const Table& table,
                 double nothing) const;

  struct Seen {
    double log_share = 0;          // while adding: the count
    std::vector<uint32_t> counts;  // per child kind
  };
  std::unordered_map<uint64_t, Seen> seen_;
  // Counts by multiset, by the first callee in it, and, for serial calls, by their sequence.
  std::unordered_map<uint64_t, double> orders_;
  // For multisets that were not seen as a whole: the count of each callee separately.
  std::vector<std::vector<double>> numbers_;
  double parents_ = 0;
  double unseen_ = 0;
  double nothing_apart_ = 0;  // no call at all, each callee separately
  // For each multiset that is contained in a seen one, the max score of those that contain it. Large
  // multisets have too many parts.
  std::unordered_map<uint64_t, double> parts_;
  double most_of_large_ = -1e300;
  // Per kind and count: the max for that count or more.
  std::vector<std::vector<double>> most_from_;
  double most_from_nothing_ = 0;
};

}  // namespace wf::paths
