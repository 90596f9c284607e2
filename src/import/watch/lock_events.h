// LockEvents: holds of locks as events for a store (docs/reference/events.md, the binary form). Each second
// of one process becomes a separate trace: a root "locks of NAME", a unit for each thread, and in it
// lock_request, lock_acquire and lock_release of each holding. Every event carries the process (host.name,
// process.pid) and its `thread.id`, by which answers join them with the spans of that thread.
//
// One thread. Each hold comes out once, in the body of its second, or of a later one if it came late.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "import/watch/lock_holding.h"
#include "import/watch/watched_process.h"

namespace wf::watch {

class LockEvents {
 public:
  // `process` is borrowed for this object's life.
  explicit LockEvents(const WatchedProcess& process) : process_(process) {}

  // `clock`: Unix time minus the kernel's monotonic clock, now.
  void Add(const LockHolding& holding, Nanos clock);
  // Bodies of the seconds before `now` (Unix ns), with two seconds' grace for late holds.
  std::vector<std::string> TakeClosed(Nanos now);
  std::vector<std::string> TakeAll();

  int64_t holdings() const { return holdings_; }
  int64_t events() const { return events_; }

 private:
  // In Unix ns; kNever where the hold has no such time.
  struct Timed {
    LockHolding holding;
    Nanos requested, acquired, released, last;
  };
  std::string Encode(int64_t second, std::vector<Timed> holdings);

  const WatchedProcess& process_;
  std::map<int64_t, std::vector<Timed>> seconds_;  // by the second in which they ended
  int64_t written_until_ = INT64_MIN;              // this second, and those before, are written
  int64_t holdings_ = 0, events_ = 0;
};

}  // namespace wf::watch
