// The compact, columnar form of a trace that the UI's waterfall reads: times relative to the trace's start, so that
// they fit a JavaScript number; blocks in depth-first order.
#pragma once

#include <vector>

#include "json/json_writer.h"
#include "model/trace.h"

namespace wf::answer {

void WriteWaterfall(const Trace& trace, JsonWriter& json);

// Blocks depth first, roots and children by (start, id), the main root first; with each block's depth.
struct WaterfallOrder {
  std::vector<uint32_t> blocks, depth;
};
WaterfallOrder DepthFirst(const Trace& trace);

}  // namespace wf::answer
