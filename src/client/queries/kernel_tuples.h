// Tuples that woven advice packs on threads of this process. The weaver of a query (the host's agent) passes
// memory to this process, into which the kernel's programs write events (advice/handed_events.h). Each event
// is taken out on the thread it happened on, and its advice packs into the baggage of that thread's request
// as if the tracepoint were compiled in.
//
//   query with Pack ─→ Want ─→ Connect: the query's socket ─→ descriptor ─→ mapped
//   a thread unpacks, packs, serialises, or leaves its request ─→ TakeKernelTuples ─→ its baggage
//
// An event belongs to the request that its thread worked for when it happened, because events are taken out
// before the thread switches to another request. Events outside of any request are dropped.
//
// The process needs no privilege. It accepts memory only from root, itself, or $WHEREFORE_AGENT_UID, and only
// if it is a map of the kernel, which nobody can shrink while we use it. A process without a query that packs
// pays one load at each of the places above.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/queries/live_query.h"
#include "client/runtime/hot_flags.h"

namespace wherefore::client {

struct MappedQuery;

class KernelTuples {
 public:
  // Whether a descriptor is what it should be; tests have their own.
  using Sound = bool (*)(int descriptor);
  // Events bear the names of `process`, as those of its own tracepoints do.
  explicit KernelTuples(std::shared_ptr<const ProcessIdentity> process, Sound sound = nullptr);
  ~KernelTuples();  // as Want({})
  KernelTuples(const KernelTuples&) = delete;
  KernelTuples& operator=(const KernelTuples&) = delete;

  // These queries run here now, perhaps on another plan than before; what others have had is unmapped. From one thread at
  // a time, as Connect.
  void Want(const std::vector<std::shared_ptr<const LiveQuery>>& queries);
  // Asks for the memory of those that have none yet, and lets go of those whose weaver has gone. Waits for a weaver's
  // answer only if there is one, half a second at most. True if it is to be called again soon.
  bool Connect();

 private:
  std::shared_ptr<MappedQuery> Ask(uint64_t query);
  void Publish();

  const std::shared_ptr<const ProcessIdentity> process_;
  const Sound sound_;
  std::vector<std::shared_ptr<const LiveQuery>> wanted_;  // those that pack
  std::vector<std::shared_ptr<MappedQuery>> mapped_;
};

// Whether a query's events may come from outside of this process's own tracepoints.
bool Packs(const LiveQuery& query);

void TakeMappedTuples() noexcept;
// Into the baggage of the line that this thread is on.
inline void TakeKernelTuples() noexcept {
  if (hot_flags.any_kernel_tuples.load(std::memory_order_relaxed)) TakeMappedTuples();
}

}  // namespace wherefore::client
