// What each parent may have done: sets of children, with how likely each is under a model.
//
// Sets are built from the earliest child on, so that a child's contribution is scored once for all sets with
// the same beginning. Of each size the likeliest few are extended; a set is skipped if it is far less likely
// than the parent's likeliest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/paths/linking_model.h"
#include "analysis/paths/linking_problem.h"

namespace wf::paths {

class Explanations {
 public:
  static constexpr size_t kMostKids = 12;  // in one explanation

  Explanations(const NodeProblem& problem, const LinkModel& model, size_t most_kids = kMostKids);

  struct One {
    double gain = 0;  // log likelihood, against that of the same children at random
    uint32_t first = 0, count = 0;
  };
  // The explanations of a parent: at least one, the likeliest first.
  std::span<const One> Of(uint32_t parent) const {
    return {all_.data() + ends_[parent], ends_[parent + 1] - ends_[parent]};
  }
  std::span<const uint32_t> KidsOf(const One& one) const {
    return {kids_.data() + one.first, one.count};
  }
  size_t size() const { return all_.size(); }

 private:
  std::vector<One> all_;
  std::vector<uint32_t> kids_;
  std::vector<size_t> ends_{0};
};

}  // namespace wf::paths
