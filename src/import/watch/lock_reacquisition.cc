#include "import/watch/lock_reacquisition.h"

#include <algorithm>

namespace wf::watch {

void LockReacquisition::Settle(Lock& lock, const LockHolding& next, std::vector<LockHolding>& out) {
  for (LockHolding& holding : lock.doubtful) {
    const bool made_wait = next.acquired != 0 && next.requested < holding.released &&
                           next.acquired >= holding.released;
    if (!made_wait) {
      ++unneeded_;
      continue;
    }
    ++bounded_;
    // `requested` of a doubtful holding is when its thread began to wait on the condition.
    holding.acquired = std::max({next.requested, holding.requested, lock.last_release});
    holding.requested = holding.acquired;
    out.push_back(holding);
  }
  if (!lock.doubtful.empty()) {
    lock.last_release = std::max(lock.last_release, lock.doubtful.back().released);
    lock.doubtful.clear();
  }
}

void LockReacquisition::Add(const LockHolding& holding, std::vector<LockHolding>& out) {
  Lock& lock = locks_[holding.address];
  if (holding.after_condition) {
    // Two in a row: whether the second waited for the first cannot be known.
    Settle(lock, {}, out);
    lock.doubtful.push_back(holding);
    return;
  }
  Settle(lock, holding, out);
  lock.last_release = std::max(lock.last_release, holding.released);
  out.push_back(holding);
}

void LockReacquisition::Finish(std::vector<LockHolding>& out) {
  for (auto& [address, lock] : locks_) Settle(lock, {}, out);
}

}  // namespace wf::watch
