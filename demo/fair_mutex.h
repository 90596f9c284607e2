// A mutex that is given to whoever has waited longest. std::mutex may let the thread that just released it take it
// again, ahead of everybody; with this one, what a request waits for is who came before it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace shop {

class FairMutex {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    const uint64_t turn = next_turn_++;
    changed_.wait(guard, [&] { return turn == serving_; });
  }
  void unlock() {
    {
      const std::lock_guard guard(mutex_);
      ++serving_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t next_turn_ = 0, serving_ = 0;
};

}  // namespace shop
