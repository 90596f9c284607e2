// How far the nodes' clocks are apart, estimated from the messages alone, and the removal of that skew.
//
// Where both ends sighted a message, its two times bound the difference of the clocks from one side, and a
// message in the other direction bounds it from the other side. The estimate is half of the difference of the
// shortest in each direction, as in time protocols. Where only the sender sighted messages, two things still
// follow soon after a message arrives: a called node calls on or answers, and a caller that got its answer
// calls on or answers. Their lags gather at one value, which may be negative until the skew is removed.
//
// Clocks are assumed to run at the same rate: a trace long enough for drift to matter has to be cut into
// pieces.
#pragma once

#include <map>
#include <span>

#include "analysis/paths/call.h"

namespace wf::paths {

struct ClockSkew {
  // By how much each clock is ahead of its component's reference, for nodes whose clock appears in the trace.
  // A component is a set of nodes whose clocks can be compared, directly or through others; its reference is
  // the node seen first.
  std::map<NodeId, Nanos> offset_ns;
  // How far times copied from the other end may still be off; passed to LinkOptions::skew_window.
  Nanos window_ns = 0;
};

ClockSkew EstimateSkew(std::span<const Call> calls);

// Moves each time by the offset of the clock that showed it.
void RemoveSkew(const ClockSkew& skew, std::span<Call> calls);

}  // namespace wf::paths
