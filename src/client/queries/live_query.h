// A query that runs in this process, and what its advice has done on one thread in one interval.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "advice/emitted_events.h"
#include "advice/program.h"
#include "advice/results.h"
#include "client/baggage/baggage_line.h"
#include "client/queries/emitted_pieces.h"

namespace wherefore::client {

// The plan of requests that begin here; a request that has begun keeps its plan (causal_past.h).
enum class QueryPlan : uint8_t { kRewritten, kEmit };

struct LiveQuery {
  wf::advice::Program program;
  QueryPlan plan = QueryPlan::kRewritten;
  std::vector<wf::advice::EmittedPlace> places;  // of the program
  int64_t interval_ns = 1'000'000'000;
  PackLimits limits;
};

// The results of a query in a process in one interval; partial results of threads are merged.
struct QueryInterval {
  QueryInterval(std::shared_ptr<const LiveQuery> of, int64_t start);

  std::shared_ptr<const LiveQuery> query;
  int64_t start_ns;
  // What every hit touches lies together.
  uint64_t hits = 0;
  int64_t advice_ticks = 0;
  uint64_t packed_tuples_max = 0;
  uint64_t baggage_about_max = 0;  // as baggage_bytes_max without its frame, of this thread
  wf::advice::Results results;
  uint64_t baggage_bytes_max = 0;
  uint64_t lost = 0;        // hits whose advice could not run, and tuples
  uint64_t overflowed = 0;  // hits that made too many tuples
  EmittedPieces events;     // of the emit plan

  int64_t end_ns() const { return start_ns + query->interval_ns; }
  void Merge(const QueryInterval& other);
  // The query has packed: so much is held by the request now.
  void NoteHeld(BaggageLine& line, const BaggageLine::Held& held);
};

// The process as its tuples name it.
struct ProcessIdentity {
  std::string host, name;
  int64_t pid = 0;
};

// More groups than anyone reads, and some tens of megabytes at most; further tuples are counted as lost.
constexpr size_t kMaxGroups = 100'000;

}  // namespace wherefore::client
