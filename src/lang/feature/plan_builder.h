// PlanBuilder: makes the nodes of a plan. An existing expression is reused; inputs from outer frames are
// broadcast. Thread safety: none.
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

  // Adds the node or finds its equal. Its frame is the innermost of its inputs' frames and `at_least`.
  int Add(Node node, int at_least = 0);
  // For kSelect, kCollect and kGroupBy: the body in[1] is in `frame`, which is over in[0]; the node itself is
  // in the frame of in[0].
  int AddOver(Node node, int frame);

  int Constant(const Literal& literal);
  int KeyIndex(const std::string& name);

  // A frame whose lanes are the items of `source`. The same frame is returned each time, so that bodies can
  // be equal, but a new one while it is open: the items of a Map inside a Map over the same source differ
  // from the outer ones.
  int OpenFrame(int source);
  void CloseFrame(int frame);
  // `id` in the lanes of `frame`, which is its own frame or one inside it.
  int Broadcast(int id, int frame);
  bool Encloses(int outer, int inner) const;  // or is the same

  // Two frames, neither of which encloses the other, met in one node: a body over a source of an outer frame
  // uses an inner one (Row, or an argument of a def). The code that opened the frame broadcasts its source
  // and compiles again.
  struct Conflict {
    bool happened = false;
    int a = 0, b = 0;
  } conflict;

 private:
  int Intern(const Node& node);

  std::unordered_map<std::string, int> known_, constants_, keys_;
  std::vector<uint8_t> open_ = {0};  // by frame
};

}  // namespace wf::feature
