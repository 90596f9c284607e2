// Where advice runs: on the thread that hits a tracepoint, into intervals of its own, which the agent's thread collects.
//
// Each thread has a shard with a lock that it holds while advice runs. Only the agent takes that lock too,
// for as long as it takes to move a few pointers, so threads that emit do not block each other. Once the
// agent has held the lock of every shard, no thread runs advice that was removed before. Hits inside of
// advice (an allocator with a tracepoint) and in a child of fork() are skipped; the former are counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "advice/interpreter.h"
#include "client/queries/live_query.h"
#include "client/queries/quick_advice.h"

namespace wherefore::client {

// Before the first tracepoint is woven: from now on advice runs in this process, and not in its children.
void AllowAdvice();

// Queries on the emit plan: from now on branches that rejoin are linked (LinkBranches). What stood there before, or null,
// is the caller's, to delete after AwaitRunningAdvice.
const WovenAdvice* LinkBranchesFor(const std::vector<std::shared_ptr<const LiveQuery>>& queries,
                                   std::shared_ptr<const ProcessIdentity> process);
// After a join: where it left a query with several causal ids, a link is emitted that stands for them.
[[gnu::hot]] void LinkBranches(BaggageLine& line) noexcept;

// Intervals of all threads that ended by `until_ns`, or whose query does not run any more; merged by query and start.
std::vector<QueryInterval> CollectIntervals(
    int64_t until_ns, const std::vector<std::shared_ptr<const LiveQuery>>& running);

// Hits inside of advice, since the process started.
uint64_t PassedOverHits();

// When it returns, no thread runs advice that it found in a tracepoint before the call.
void AwaitRunningAdvice();

// Events of this thread that were seen elsewhere (kernel_tuples.h), in order.
class HandedEvents {
 public:
  using Use = std::function<void(std::string_view tracepoint, const wf::advice::Event& event)>;
  virtual ~HandedEvents() = default;
  // Uses the next one; false if there is none.
  virtual bool Next(const Use& use) = 0;
};
// Whether advice may run here and now: not inside of advice, nor in a child of fork().
bool MayRunAdvice();
// Their advice packs into the baggage of this thread's request. What it emits, and that there was a hit, whoever saw
// them has told; `lost` more that it saw are missing.
void RunHandedEvents(const std::shared_ptr<const LiveQuery>& query, HandedEvents& events,
                     uint64_t lost);

}  // namespace wherefore::client
