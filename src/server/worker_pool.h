// WorkerPool: a few threads that answer questions, so that the io threads only move bytes and decode. The queue is
// bounded: when it is full the caller answers "try again later" at once instead of letting everyone wait.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace wf::server {

class WorkerPool {
 public:
  WorkerPool(size_t threads, size_t queue_limit);
  ~WorkerPool();  // finishes what is queued
  // False when the queue is full or the pool is stopping; the task was not taken.
  [[nodiscard]] bool Run(std::function<void()> task);

 private:
  void Loop();

  const size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace wf::server
