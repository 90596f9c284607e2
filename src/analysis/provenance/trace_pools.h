// Connection pools: a CLIENT span that names one (db.client.connection.pool.name) holds a connection from
// when it sends until it is answered. The wait for a connection is not recorded. It is inferred if all
// connections ever seen in use were in use when the span began, and its request arrived no sooner than one
// transit time after a connection was given back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/provenance/trace_frames.h"

namespace wf::provenance {

// "pool to-storage of compute/1"; empty if the block names no pool.
std::optional<std::string> PoolOf(const Trace& trace, const Block& block);

// Moves `sent` of calls that waited for a connection to when they got it.
void PlaceSendsOfPools(std::vector<TraceFrames>& frames, const OneWayTimes& least);

}  // namespace wf::provenance
