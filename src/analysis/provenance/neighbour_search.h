// Which traces shared a resource with a request while it waited; then which shared one with those while they waited,
// and so on, a bounded number of rounds.
//
// What a wait was for is read off the traces: the process, its partition or named resources, the threads that may have
// waited for a lock. Who else was there is not known here: a NeighbourSource is asked, place by place and only for
// stretches of time it was not asked for before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/provenance/trace_execution.h"
#include "base/result.h"
#include "model/trace.h"

namespace wf::provenance {

// A stretch of a trace that is to be explained, by the clock the traces are built with.
struct NeighbourWindow {
  TraceId trace;
  Nanos from_ns = 0, until_ns = 0;
};

using Stretch = std::pair<Nanos, Nanos>;
using TraceStretches = std::map<TraceId, Stretch>;
// Widens what is known of a trace. A stretch that ends before it starts is passed over.
void Extend(TraceStretches& found, TraceId id, Stretch stretch);

enum class PlaceKey : uint8_t { kInstance, kHost, kPid, kThread, kPartition, kResource };

// Where work waits: a process, a partition, a named resource.
struct NeighbourPlace {
  std::vector<std::pair<PlaceKey, std::string>> keys;  // empty: known by its service only
  std::string service;  // work of others is passed over; empty: of any
};

// Where traces come from. Limits are its own, and it counts what they leave out.
class NeighbourSource {
 public:
  virtual ~NeighbourSource() = default;
  // Extends `found` by what ran at the place in these stretches, which are in order, do not touch, and are times as
  // recorded there; `offset` is by how much those are ahead of the clock that traces are built with.
  virtual Status FindAt(const NeighbourPlace& place, const std::vector<Stretch>& stretches,
                        Nanos offset, TraceStretches& found) = 0;
  // Reads these traces; one that is not there, or beyond a limit, is left out.
  virtual Status ReadTraces(const std::vector<TraceId>& ids) = 0;
  virtual const Trace* Find(TraceId id) const = 0;       // of those read; null if it is none
  virtual std::vector<const Trace*> traces() const = 0;  // all that were read, by id
};

struct NeighbourOptions {
  int rounds = 8;  // from whom one waited for to whom that one waited for
  enum class WatchedLocks : uint8_t { kNone, kStored } locks = WatchedLocks::kNone;
};

// How many waits were ignored: shorter than a thousandth of the request. `source` holds the windows' traces already.
Result<int64_t> ReadNeighbours(const std::vector<NeighbourWindow>& windows,
                               const NeighbourOptions& options, NeighbourSource& source);

}  // namespace wf::provenance
