// What the baggage of a request carries for a query on the emit plan: the id of the last event, in a slot of its own
// behind the program's, and nothing else. Branches that rejoined hold an id each, until an event or a link replaces them.
//
// A request runs on one plan. Its first event that leaves something in the baggage decides which one, and the
// kind of entry it leaves shows the decision. So the server may change the plan at any moment, and every
// process continues as the request began. Where branches of both kinds meet, the past is lost; events are
// marked (advice::kLostPast), and the server counts them.
#pragma once

#include <cstdint>
#include <vector>

#include "client/baggage/baggage_line.h"
#include "client/queries/live_query.h"

namespace wherefore::client {

// Of a hit; `line` is null where nothing was packed or received yet.
QueryPlan PlanOfRequest(BaggageLine* line, const LiveQuery& query);

// Ids of the events that happened last, on each branch that has come together here.
std::vector<uint64_t> CausalPast(BaggageLine& line, const wf::advice::Program& program);
void SetCausalPast(BaggageLine& line, const wf::advice::Program& program, uint64_t id);

// Whether `Sample` keeps a request that has no id of its own: the decision of its first hit travels with it,
// in one more slot. Branches that part before that decide separately.
enum class RequestSample : uint8_t { kLeftOut, kKept };
RequestSample SampleOf(BaggageLine& line, const wf::advice::Program& program,
                       RequestSample if_undecided);

}  // namespace wherefore::client
