// PlanBuilder: makes the nodes of a plan. An expression that is there already is not made again; inputs from outer
// frames are broadcast. Thread safety: none.
#pragma once

#include <string>
#include <unordered_map>

#include "lang/feature/feature_plan.h"

namespace wf::feature {

class PlanBuilder {
 public:
  Plan plan;

  const Node& node(int id) const { return plan.nodes[static_cast<size_t>(id)]; }
  const Type& type(int id) const { return node(id).type; }

  // Adds the node or finds its equal. Its frame is the innermost of its inputs' and of `at_least`.
  int Add(Node node, int at_least = 0);
  // For kSelect, kCollect and kGroupBy: `body` lives in a frame over `source`; the node stands where `source` does.
  int AddOver(Node node);

  int Constant(const Literal& literal);
  int KeyIndex(const std::string& name);

  // The frame whose lanes are the items of `source`.
  int FrameOver(int source);
  // `id` in the lanes of `frame`, which is its own or one inside it.
  int Broadcast(int id, int frame);
  bool Encloses(int outer, int inner) const;  // or is it

  // Two frames of which neither encloses the other met in one node: a body over a source of an outer frame mentions an
  // inner one (Row, or an argument of a def). Whoever opened the frame broadcasts its source and compiles again.
  struct Conflict {
    bool happened = false;
    int a = 0, b = 0;
  } conflict;

 private:
  int Intern(const Node& node);

  std::unordered_map<std::string, int> known_, constants_, keys_;
  std::unordered_map<int, int> frame_over_;
};

}  // namespace wf::feature
