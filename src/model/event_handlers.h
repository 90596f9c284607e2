// One handler per event type (Canopy §4.2): each creates model elements, adds to existing ones, or puts its row
// aside until every block is known. The Relate* functions then turn what was put aside into points, blocks and edges.
#pragma once

#include "model/build_state.h"

namespace wf {

using EventHandler = void (*)(BuildState&, uint32_t row);

// span_handler.cc
void HandleSpan(BuildState& state, uint32_t row);
// unit_handlers.cc
void HandleUnitBegin(BuildState& state, uint32_t row);
void HandleUnitEnd(BuildState& state, uint32_t row);
void HandleBlockBegin(BuildState& state, uint32_t row);
void HandleBlockEnd(BuildState& state, uint32_t row);
void HandlePoint(BuildState& state, uint32_t row);
void HandleAnnotate(BuildState& state, uint32_t row);
void HandleTraceStart(BuildState& state, uint32_t row);
void PlacePoints(BuildState& state);       // points and trace starts
void PlaceAnnotations(BuildState& state);  // annotate events; after every other element exists
// edge_handlers.cc
void HandleEdge(BuildState& state, uint32_t row);
void RelateEdges(BuildState& state);
// rpc_handlers.cc
void HandleRpc(BuildState& state, uint32_t row);
void RelateRpcs(BuildState& state);
// queue_handlers.cc
void HandleQueue(BuildState& state, uint32_t row);
void RelateQueues(BuildState& state);
// lock_handlers.cc
void HandleLock(BuildState& state, uint32_t row);
void RelateLocks(BuildState& state);
// task_handlers.cc
void HandleTask(BuildState& state, uint32_t row);
void RelateTasks(BuildState& state);
// trace_builder.cc
void HandleUnknown(BuildState& state, uint32_t row);

// The rows of `rows` grouped by id1, each group in handling order; groups by id.
std::vector<std::vector<uint32_t>> GroupById(const BuildState& state,
                                             const std::vector<uint32_t>& rows);

// Which sends belong to which receives when both sides recorded several (streams, several responses, publishing):
// as many on both sides: in order; one on a side: with each of the other; else in order, the rest with the last.
std::vector<std::pair<uint32_t, uint32_t>> PairEnds(size_t sends, size_t receives);

}  // namespace wf
