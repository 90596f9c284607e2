// LockReacquisition: when a thread got its mutex back after waiting on a condition. The probe sees the wait
// begin and the later release of the mutex, but not the reacquisition in between (lock_programs.h). A hold
// that made no other thread wait explains nothing. For one that did, the next thread to get the lock gives a
// bound: the lock was taken when that thread requested it. So the hold is set to begin when the next one
// requested the lock, but not before the lock's last known release.
//
// Holds are added in the order of their release and come out in that order; those in doubt come out when the
// next hold of the same lock is known. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "import/watch/lock_holding.h"

namespace wf::watch {

class LockReacquisition {
 public:
  void Add(const LockHolding& holding, std::vector<LockHolding>& out);
  // No further requests for these locks came: their holds have no known length.
  void Finish(std::vector<LockHolding>& out);

  uint64_t unneeded() const { return unneeded_; }  // holds that no thread waited for, left out
  uint64_t bounded() const { return bounded_; }

 private:
  struct Lock {
    uint64_t last_release = 0;
    std::vector<LockHolding> doubtful;  // at most one: another one would have had to wait for it
  };
  void Settle(Lock& lock, const LockHolding& next, std::vector<LockHolding>& out);

  std::map<uint64_t, Lock> locks_;  // by address
  uint64_t unneeded_ = 0, bounded_ = 0;
};

}  // namespace wf::watch
