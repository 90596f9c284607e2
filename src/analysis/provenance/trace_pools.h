// Connection pools: a CLIENT span that names one (db.client.connection.pool.name) has a connection from when it sends
// until it is answered. How long it waited for one is not recorded; it shows when all connections seen in use were in use
// when the span began, and its request arrived no sooner than the way takes from when one was given back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

// "pool to-storage of compute/1"; nothing if the block names none.
std::optional<std::string> PoolOf(const Trace& trace, const Block& block);

// Moves `sent` of calls that waited for a connection to when they got it.
void PlaceSendsOfPools(std::vector<TraceFrames>& frames, const OneWayTimes& least);

}  // namespace wf::provenance
