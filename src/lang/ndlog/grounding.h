// Does a tuple still rest on something?
//
// Problem: when a derivation goes, the tuple must go unless another derivation is left. Counting derivations is wrong
// for recursive programs: after the last link to a destination is gone, reachable(@a,d) and reachable(@b,d) of two
// neighbours go on deriving each other.
//
// Method: a tuple stays if it can be derived, over any number of steps, from base tuples (and from what events left
// behind) without using itself: the least fixpoint over the derivations above it. This looks at other nodes' tuples at
// once, which no real node could; real ones would carry provenance in their messages (Liu et al., "Recursive
// computation of regions and connectivity in networks") and come to the same end. What nodes tell each other, −τ by −τ,
// and when, stays as it is: a search only decides whether a tuple of this node is kept.
//
// The run keeps two rules. A row becomes alive only if it is grounded, and is looked at again whenever it loses a
// support. Then at rest no alive row is ungrounded: the last loss of a support among such rows would have been seen.
// And a row that is grounded but not alive (its other derivations were in doubt when it lost one) is *suspended*, and
// looked at again whenever some row has become alive.
#pragma once

#include "lang/ndlog/tables.h"

namespace wf::ndlog {

class Grounding {
 public:
  // `row` itself counts as derived only once a derivation shows it.
  bool IsGrounded(Row* row);

 private:
  uint32_t search_ = 0;
};

}  // namespace wf::ndlog
