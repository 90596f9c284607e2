// Which calls parents of one kind make: multisets of callees, by how often they were seen; which of them is called first;
// and, where each is made after the one before has returned, in which order.
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
  void AddOrder(const NodeProblem& problem, std::span<const uint32_t> kids);  // if it shall count
  // No Add afterwards. `unseen`: what was not seen counts like that share of what was, if that is more than usual.
  void Finish(double unseen = 0);
  double Score(const NodeProblem& problem, std::span<const uint32_t> kids) const;
  // What it takes to tell how often each is: half the logarithm of the number of parents.
  double Cost() const;
  // At least the score of anything that begins with these.
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
    double log_share = 0;          // while adding: how often
    std::vector<uint32_t> counts;  // per child kind
  };
  std::unordered_map<uint64_t, Seen> seen_;
  // How often: by multiset, by what of it is called first, and, of calls made one after another, by their sequence.
  std::unordered_map<uint64_t, double> orders_;
  // For multisets that were not seen as a whole, each callee's number by itself.
  std::vector<std::vector<double>> numbers_;
  double parents_ = 0;
  double unseen_ = 0;
  double nothing_apart_ = 0;  // no call to anybody, each callee by itself
  // Per multiset that is part of one seen, the greatest score of those it is part of. Large ones have too many parts.
  std::unordered_map<uint64_t, double> parts_;
  double most_of_large_ = -1e300;
  std::vector<std::vector<double>>
      most_from_;  // per kind and number: the greatest of that number or more
  double most_from_nothing_ = 0;
};

}  // namespace wf::paths
