// PlanRunner: evaluates the nodes of a plan over one trace, each once, in the order of the plan.
//
// Bounded: every entry an operator makes, and every step of those that walk the trace, is charged against a
// budget; when it is used up, evaluation stops and overflowed() returns true. Nothing here recurses, and
// loops run only over entries. Lifetime: borrows plan and trace. Thread safety: none; the plan is only read.
#pragma once

#include <cstdint>
#include <vector>

#include "lang/feature/element_keys.h"
#include "lang/feature/element_view.h"
#include "lang/feature/feature_plan.h"
#include "lang/feature/lane_vector.h"

namespace wf::feature {

class PlanRunner {
 public:
  PlanRunner(const Plan& plan, const Trace& trace, int64_t budget);

  // Evaluates everything that the nodes need. False if the budget is used up: then no result may be read.
  bool Evaluate(const std::vector<int>& nodes);
  const LaneVector& at(int node) const { return vectors_[static_cast<size_t>(node)]; }
  size_t Lanes(int frame) const;
  bool overflowed() const { return budget_ < 0; }
  int64_t budget_left() const { return budget_; }
  ElementView& view() { return view_; }

 private:
  void Run(int id);
  bool Charge(size_t entries) {
    budget_ -= static_cast<int64_t>(entries);
    return budget_ >= 0;
  }
  const LaneVector& In(const Node& node, size_t i) const { return at(node.in[i]); }
  // The lane of `frame`'s parent that each of its lanes belongs to.
  const std::vector<uint32_t>& ParentLanes(int frame);

  // run_frames.cc: lanes, frames, rows of frames
  LaneVector It(const Node& node);
  LaneVector Broadcast(const Node& node);
  LaneVector Select(const Node& node);
  LaneVector Collect(const Node& node);
  LaneVector GroupBy(const Node& node);
  LaneVector GatherLanes(const LaneVector& from, const std::vector<uint32_t>& lanes);
  LaneVector KeepEntries(const LaneVector& from, const std::vector<uint8_t>& keep);
  // run_navigate.cc: from elements to elements
  LaneVector Navigate(const Node& node);
  void Reach(Navigation navigation, Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachUnits(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachBlocks(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachPoints(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachEdges(Navigation navigation, Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachParent(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachChildren(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachAncestors(Element kind, uint32_t index, std::vector<uint32_t>& out);
  void ReachDescendants(Element kind, uint32_t index, std::vector<uint32_t>& out);
  // run_paths.cc: critical paths and gaps
  LaneVector FindPaths(const Node& node);
  void ReachPath(Navigation navigation, uint32_t path, std::vector<uint32_t>& out);
  void ReachGaps(Element kind, uint32_t index, std::vector<uint32_t>& out);
  // run_values.cc: from elements to values, from values to values
  LaneVector Constant(const Node& node);
  LaneVector FilterKeys(const Node& node);
  LaneVector ReadKeys(const Node& node);
  LaneVector Property(const Node& node);
  LaneVector GroupName(const Node& node);
  LaneVector CounterDelta(const Node& node);
  // run_arithmetic.cc
  LaneVector Calculate(const Node& node);
  LaneVector CompareValues(const Node& node);
  LaneVector Logical(const Node& node);
  LaneVector Choose(const Node& node);
  LaneVector WithDefault(const Node& node);
  LaneVector ToDouble(const Node& node);
  // run_aggregates.cc: from many to one
  LaneVector Aggregate(const Node& node);
  LaneVector Nth(const Node& node);
  LaneVector Exists(const Node& node);
  LaneVector Distinct(const Node& node);

  // A vector with the lanes and offsets of `like`.
  LaneVector Shaped(const Type& type, const LaneVector& like);

  const Plan& plan_;
  ElementView view_;
  int64_t budget_;
  std::vector<LaneVector> vectors_;
  std::vector<uint8_t> done_;
  std::vector<std::vector<uint32_t>> parent_lanes_;
  // Per block: the lane (plus one) that reached it last, so that no lane walks a subtree twice.
  std::vector<uint32_t> reached_;
  uint32_t reaching_ = 0;
  std::vector<uint32_t> stack_;
};

}  // namespace wf::feature
