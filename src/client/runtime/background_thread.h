// Threads of ours inside someone else's process: named, and with every signal blocked, so that the host's handlers
// never run on them.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace wherefore::client {

// Throws std::system_error when the system has no thread to give.
template <typename Body>
std::thread StartBackgroundThread(const char* name, Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  try {
    thread = std::thread([name, body = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name);
      body();
    });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

// Waits for `stopped`, which `changed` tells of and `lock` guards, until the deadline; a thread that does not end by then
// is left to itself: the host is not kept waiting. `lock` is given up.
inline void EndBackgroundThread(std::unique_lock<std::mutex>& lock,
                                std::condition_variable& changed, const bool& stopped,
                                std::thread& thread, std::chrono::milliseconds deadline) {
  const bool ended = changed.wait_for(lock, deadline, [&] { return stopped; });
  if (!thread.joinable()) return;
  std::thread taken = std::move(thread);
  lock.unlock();
  if (ended) {
    taken.join();
  } else {
    taken.detach();
  }
}

}  // namespace wherefore::client
