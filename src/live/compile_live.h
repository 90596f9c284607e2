// The text of a live query → the advice that processes run.
#pragma once

#include <memory>

#include "live/live_query.h"

namespace wf::live {

// Parsed, compiled and rewritten so that the fewest tuples travel; the counting form of it when `spec.count` is set.
Result<std::shared_ptr<const advice::Program>> CompileLive(const LiveQuerySpec& spec, uint64_t id);

}  // namespace wf::live
