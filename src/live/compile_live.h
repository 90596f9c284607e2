// The text of a live query → the advice that processes run.
#pragma once

#include <memory>

#include "live/live_query.h"

namespace wf::live {

// Parses and compiles the query, and rewrites it so that the fewest tuples travel. With `spec.count`, its
// counting form.
Result<std::shared_ptr<const advice::Program>> CompileLive(const LiveQuerySpec& spec, uint64_t id);

}  // namespace wf::live
