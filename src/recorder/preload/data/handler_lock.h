#pragma once

#include <atomic>
#include <cstdint>

namespace wf::recorder::data {

// Held for a moment, by handlers that block all signals. Threads outnumber processors, so it sleeps.
class HandlerLock {
 public:
  void Take();
  void Give();
  void Reset() { word_.store(0); }  // in a forked child

 private:
  std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and waited for
};

}  // namespace wf::recorder::data
