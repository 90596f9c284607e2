// The plan of last resort, for queries whose tuples are too many to travel: every event of the query's
// tracepoints is emitted under a causal id, baggage carries only the id of the last one, and the join is made
// where the tuples are collected.
//
// One id is enough because branches that rejoin with different ids emit a link: a new id that comes after
// both.
#pragma once

#include "advice/program.h"
#include "lang/query/execution.h"
#include "lang/query/plan_advice.h"

namespace wf::query {

// What was emitted, as the collector sees it: events of the query's tracepoints with the variables that the
// query reads, and links (events without a tracepoint), each after those whose ids it was emitted with.
struct EmittedEvents {
  Execution execution;
  uint64_t tuples = 0;       // one per event; links have none
  size_t baggage_bytes = 0;  // of any baggage that carries an id; 0 if none did
};
EmittedEvents EmitEvents(const advice::Program& program, const Execution& execution);

PlanRun RunEmitPlan(const advice::Program& program, const Execution& execution);

}  // namespace wf::query
