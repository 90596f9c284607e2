#pragma once

#include <atomic>
#include <cstdint>

namespace wf::recorder::data {

// Held briefly, by handlers that block all signals. There are more threads than processors, so waiting
// threads sleep.
class HandlerLock {
 public:
  void Take();
  void Give();
  void Reset() { word_.store(0); }  // in a forked child

 private:
  std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and waited for
};

}  // namespace wf::recorder::data
