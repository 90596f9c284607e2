// A modeled trace as an execution that queries run over: a block is two events, N and N.end, any other point one.
// Happened-before follows begin → children → end and the trace's edges.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "answer/query/stored_variables.h"
#include "lang/query/execution.h"
#include "model/trace.h"

namespace wf::answer {

struct TraceExecution {
  query::Execution execution;
  uint64_t dropped_edges = 0;  // that would have closed a circle
};

// Every event is there, for its place in the order; variables only of those at `tracepoints`. Stand-ins are no events
// of any tracepoint: nobody recorded them.
TraceExecution ExecutionOf(const Trace& trace, const std::unordered_set<std::string>& tracepoints,
                           VariableReader& variables);

}  // namespace wf::answer
