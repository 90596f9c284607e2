// Whether a tuple still has a derivation that does not depend on itself.
//
// Problem: when a derivation goes, the tuple must go unless another derivation remains. Counting derivations
// is wrong for recursive programs: after the last link to a destination is gone, reachable(@a,d) and
// reachable(@b,d) of two neighbours keep deriving each other.
//
// Method: a tuple stays if it can be derived, over any number of steps, from base tuples (and from tuples
// that events left) without using itself: the least fixpoint over the derivations above it. This reads other
// nodes' tuples directly, which no real node could; real ones would carry provenance in their messages (Liu
// et al., "Recursive computation of regions and connectivity in networks") and reach the same result. The
// messages between nodes, −τ by −τ, and their times do not change: the search only decides whether a tuple of
// this node is kept.
//
// The run follows two rules. A row becomes alive only if it is grounded, and is checked again whenever it
// loses a support. So at rest no alive row is ungrounded: the last loss of a support among such rows would
// have been noticed. A row that is grounded but not alive (its other derivations were in doubt when it lost
// one) is *suspended*, and checked again whenever some row has become alive.
#pragma once

#include "lang/ndlog/tables.h"

namespace wf::ndlog {

class Grounding {
 public:
  // `row` itself counts as derived only after a derivation proves it.
  bool IsGrounded(Row* row);

 private:
  uint32_t search_ = 0;
};

}  // namespace wf::ndlog
