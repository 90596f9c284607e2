// The stack samples of a trace, for the UI's flame chart: annotations of kind `stack` on points (samples) and blocks
// (the stack of a call), as a tree of frames and columns of samples.
#pragma once

#include <cstdint>
#include <vector>

#include "json/json_writer.h"
#include "model/trace.h"

namespace wf::answer {

void WriteStacks(const Trace& trace, JsonWriter& json);

// A point that carries a stack and marks no phase: one of many, which the waterfall leaves to the flame chart.
bool IsStackSample(const Trace& trace, uint32_t point);

// How many samples each unit has.
std::vector<uint32_t> StackSamplesByUnit(const Trace& trace);

}  // namespace wf::answer
