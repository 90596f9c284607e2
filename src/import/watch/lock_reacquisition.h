// LockReacquisition: when a thread got its mutex back after waiting on a condition. The probe sees the wait begin and
// the mutex being released afterwards, not the moment in between (lock_programs.h). But a holding that made nobody
// wait explains nothing, and for one that did, the next to get the lock tells: the lock was taken when that one asked.
// So the holding is made to begin when the next one asked, and not before the lock's last known release.
//
// Holdings are given in the order in which they were released; each comes out again in that order, those in doubt when
// the next holding of the same lock is known. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "import/watch/lock_holding.h"

namespace wf::watch {

class LockReacquisition {
 public:
  void Add(const LockHolding& holding, std::vector<LockHolding>& out);
  // Nobody asked for these locks any more: they were held for no time that is known.
  void Finish(std::vector<LockHolding>& out);

  uint64_t unneeded() const { return unneeded_; }  // holdings that nobody waited for, left out
  uint64_t bounded() const { return bounded_; }

 private:
  struct Lock {
    uint64_t last_release = 0;
    std::vector<LockHolding> doubtful;  // at most one: another would have had to wait for it
  };
  void Settle(Lock& lock, const LockHolding& next, std::vector<LockHolding>& out);

  std::map<uint64_t, Lock> locks_;  // by address
  uint64_t unneeded_ = 0, bounded_ = 0;
};

}  // namespace wf::watch
