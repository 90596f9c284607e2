// Traces → provenance events (Zeno §6, its Zipkin front end): what each request did, what caused it, and
// which resources it held meanwhile, over all traces that shared them. docs/use/explain.md has the rules.
//
// A span becomes DRV segments, the stretches in which none of the children it waits for runs. A remote call
// adds SND and RCV for the request and for the reply. A request that comes from outside is an INS. Causes of
// a segment: the segment before it, and what it waited for. Whatever real traces contain (skew, overlaps,
// missing parents, spans of no length, contradicting edges), ExecutionBuilder accepts the events; what had to
// be moved or left out for that is counted.
//
// Pure; any thread; the same traces give the same events in any order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/provenance_event.h"
#include "model/trace.h"

namespace wf::provenance {

enum class SpanSide : uint8_t { kStart, kEnd };

enum class PlaceUse : uint8_t { kFrom, kTo };

// A place that the caller will ask about: for kFrom an event starts exactly there, for kTo one ends there.
struct SpanPlace {
  TraceId trace;
  uint64_t span = 0;
  SpanSide side = SpanSide::kStart;
  PlaceUse use = PlaceUse::kFrom;
};

enum class ServerKind : uint8_t {
  kSynchronous,   // a request keeps its worker until it is answered, while it waits for others too
  kAsynchronous,  // a request keeps its worker only while it runs
};
std::string_view ServerKindName(ServerKind kind);

// Facts that spans do not show but the user knows.
struct ResourceRule {
  std::string name;       // of the resource
  std::string service;    // service of the spans that hold it; empty: any
  std::string operation;  // likewise
  std::string attribute;  // spans that have it; each value is a resource of its own; empty: all
  std::optional<int64_t> servers;
};
struct WorkerRule {
  std::string service;
  std::optional<int64_t> workers;  // of each process
  std::optional<ServerKind> kind;
};

// The min time seen from sending to arrival: (client service, server service) → ns.
using OneWayTimes = std::map<std::pair<std::string, std::string>, Nanos>;
// Adds those of a trace's calls. Returns false if the trace records all arrivals, so that none needs to be
// estimated.
bool AddOneWayTimes(const Trace& trace, OneWayTimes& least);

struct TraceExecutionOptions {
  std::vector<ResourceRule> resources;
  std::vector<WorkerRule> workers;
  std::vector<SpanPlace> places;
  OneWayTimes least_one_way;  // known from elsewhere
};

// What was assumed, so that the answer can say so.
enum class ToldBy : uint8_t { kConfig, kThreads, kWaits, kConcurrency };
std::string_view ToldByName(ToldBy by);
struct AssumedResource {
  std::string resource;
  int64_t servers = 1;
  ToldBy servers_by = ToldBy::kConcurrency;
  // Set for workers only.
  std::optional<ServerKind> kind;
  ToldBy kind_by = ToldBy::kConcurrency;
};
struct TraceAssumptions {
  int64_t arrivals_recorded = 0;           // server spans that record when their request arrived
  int64_t arrivals_estimated = 0;          // assumed to be the send plus the min one-way time
  int64_t arrivals_unknown = 0;            // no client is recorded: assumed to be the span's start
  int64_t spans_moved = 0;                 // moved into the bounds of the span that waited for them
  int64_t causes_dropped = 0;              // they contradict the times
  int64_t holds_dropped = 0;               // of zero length, where all servers are taken
  std::vector<AssumedResource> resources;  // by name
};

// The block that an event comes from.
struct EventSource {
  uint32_t trace = 0;  // index in the input
  uint32_t block = 0;  // of that trace
};

struct TraceExecution {
  std::vector<ProvenanceEvent> events;  // to be added in this order
  std::vector<EventSource> sources;     // one per event
  std::vector<ResourceServers> servers;
  TraceAssumptions assumed;
  std::vector<uint32_t> places;  // the event of each place asked for; UINT32_MAX: no such span
};

TraceExecution MakeTraceExecution(const std::vector<const Trace*>& traces,
                                  const TraceExecutionOptions& options = {});

// The name of a block's process, as resources use it: "storage/INSTANCE", "storage@HOST:PID", "storage@HOST",
// "storage".
std::string ProcessName(const Trace& trace, const Block& block);

// The value of an attribute of the block or its process, as text; the second returns all values, with lists
// split.
std::optional<std::string> BlockAttribute(const Trace& trace, const Block& block,
                                          std::string_view key);
std::vector<std::string> BlockAttributeValues(const Trace& trace, const Block& block,
                                              std::string_view key);

// A period in which a block may have waited for a resource of its process (or one of its own).
struct TraceWait {
  uint32_t block = kNone;
  Nanos from_ns = 0, until_ns = 0;
};
// All waits that a trace shows by itself; where arrivals are unknown, they begin at the client's send.
std::vector<TraceWait> FindWaits(const Trace& trace);

// A span's link to a span of another trace.
struct SpanLink {
  uint32_t block = kNone;  // the block with the link
  TraceId trace;
  uint64_t span = 0;
};
std::vector<SpanLink> FindLinks(const Trace& trace);

// Waits for locks, including those watched from outside, whose events are in traces of their own.
struct LockWait {
  const Trace* trace = nullptr;
  TraceWait wait;
};
std::vector<LockWait> FindLockWaits(const std::vector<const Trace*>& traces);

// The work of one thread for a request: when, and the block it began with.
struct ThreadWork {
  uint32_t block = kNone;
  Nanos start_ns = 0, end_ns = 0;
};
std::vector<ThreadWork> FindThreadWork(const Trace& trace);
// The id of the thread that ran a block; empty: unknown.
std::string_view ThreadOf(const Trace& trace, const Block& block);

}  // namespace wf::provenance
