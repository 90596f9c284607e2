// Threads of this library inside someone else's process: named, and with every signal blocked, so that the
// host's handlers never run on them.
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

// Throws std::system_error when the system cannot start a thread.
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

// Waits until the deadline for `stopped`, which `lock` guards and `changed` signals. A thread that has not
// ended by then is left running, so that the host does not wait. Releases `lock`.
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
