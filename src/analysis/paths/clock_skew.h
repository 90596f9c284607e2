// How far the nodes' clocks are apart, from the messages alone, and its removal.
//
// Where a message was sighted at both ends, its two times bound the difference of two clocks from one side, and a
// message the other way bounds it from the other: the shortest of each, halved, as time protocols do. Where only the
// sender sighted, two things still follow soon on a message that arrives: a node that was called calls on or answers,
// and a caller that got its answer calls on or answers. Their lags pile up at one value, which may be negative until
// the clocks' difference is removed.
//
// Clocks are taken to run at the same rate: a trace long enough for drift to matter has to be cut in pieces.
#pragma once

#include <map>
#include <span>

#include "analysis/paths/call.h"

namespace wf::paths {

struct ClockSkew {
  // By how much each clock is ahead of its component's reference, for nodes whose clock shows in the trace. The
  // reference of a component (nodes whose clocks can be compared, directly or over others) is the one seen first.
  std::map<NodeId, Nanos> offset_ns;
  // How far times taken over from the other end may still be off, to be given to LinkOptions::skew_window.
  Nanos window_ns = 0;
};

ClockSkew EstimateSkew(std::span<const Call> calls);

// Each time is moved by the offset of the clock that showed it.
void RemoveSkew(const ClockSkew& skew, std::span<Call> calls);

}  // namespace wf::paths
