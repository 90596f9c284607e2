// Is a server synchronous (a request keeps its worker while it waits for others) or asynchronous, and how
// many workers does it have? Decided by threads where spans name them, else by what ended before a waiting
// request began, else by concurrency.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/provenance/trace_execution.h"

namespace wf::provenance {

// One request's work in one thread of a process.
struct WorkerUse {
  Nanos ready = 0, start = 0, end = 0;
  std::vector<std::pair<Nanos, Nanos>> segments;  // in order of time, not overlapping
  std::string thread;                             // empty: unknown
};

struct WorkerJudgement {
  ServerKind kind = ServerKind::kSynchronous;
  ToldBy kind_by = ToldBy::kConcurrency;
  int64_t workers = 1;
  ToldBy workers_by = ToldBy::kConcurrency;
};

WorkerJudgement JudgeWorkers(const std::vector<WorkerUse>& uses, const WorkerRule* rule);

// The max number of intervals (start, end] that overlap at once; 0 if there are none.
int64_t MostAtOnce(std::vector<std::pair<Nanos, Nanos>> intervals);

}  // namespace wf::provenance
