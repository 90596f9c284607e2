// The lock probe on a real process that knows nothing of it: this one's child.
#include "import/watch/lock_probe.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>

namespace wf::watch {
namespace {

using namespace std::chrono_literals;

// What child and test tell each other.
struct Shared {
  std::atomic<int> go{0}, done{0};
  std::atomic<uint64_t> mutex_address{0};
  std::atomic<uint32_t> holder{0}, waiter{0};
};

template <typename Condition>
bool WaitFor(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

class Child {
 public:
  explicit Child(const std::function<void(Shared&)>& body) {
    void* place =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = new (place) Shared;
    pid = fork();
    if (pid == 0) {
      while (shared->go == 0) usleep(1000);
      body(*shared);
      shared->done = 1;
      while (true) pause();
    }
  }
  ~Child() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    munmap(shared, sizeof(Shared));
  }
  Shared* shared;
  pid_t pid;
};

struct Watched {
  std::vector<LockHolding> holdings, unfinished;
  LockProbeCounters counters;
  bool finished = false;
};

// Attaches, lets the child go, reads until it is done.
Result<Watched> Watch(Child& child, Nanos at_least) {
  Watched watched;
  WF_ASSIGN(const WatchedProcess process, WatchedProcess::Look(child.pid));
  WF_ASSIGN(const auto probe, LockProbe::Attach(process, {at_least}, [&](const LockHolding& h) {
              watched.holdings.push_back(h);
            }));
  child.shared->go = 1;
  for (int i = 0; i < 2000 && child.shared->done == 0; ++i) WF_TRY(probe->Poll(10));
  WF_TRY(probe->Poll(0));
  watched.finished = child.shared->done == 1;
  watched.unfinished = probe->Unfinished();
  watched.counters = probe->Counters();
  return watched;
}

#define WATCH_OR_SKIP(name, child, at_least)                                       \
  const auto name##_result = Watch(child, at_least);                               \
  if (!name##_result.ok() && name##_result.error().code != ErrorCode::kBadInput && \
      getenv("WHEREFORE_NEEDS_BPF") == nullptr) {                                  \
    GTEST_SKIP() << name##_result.error().message;                                 \
  }                                                                                \
  ASSERT_TRUE(name##_result.ok()) << name##_result.error().message;                \
  const Watched& name = *name##_result;                                            \
  ASSERT_TRUE(name.finished)

TEST(LockProbe, TellsWhoWaitedForWhom) {
  Child child([](Shared& shared) {
    std::mutex mutex;
    shared.mutex_address = reinterpret_cast<uint64_t>(&mutex);
    std::atomic<bool> held{false};
    std::thread holder([&] {
      shared.holder = static_cast<uint32_t>(gettid());
      const std::lock_guard lock(mutex);
      held = true;
      std::this_thread::sleep_for(100ms);
    });
    while (!held) std::this_thread::yield();
    std::thread waiter([&] {
      shared.waiter = static_cast<uint32_t>(gettid());
      const std::lock_guard lock(mutex);
      std::this_thread::sleep_for(20ms);
    });
    holder.join();
    waiter.join();
  });
  WATCH_OR_SKIP(watched, child, kMilli);
  std::vector<LockHolding> ours;
  for (const LockHolding& holding : watched.holdings) {
    if (holding.address == child.shared->mutex_address) ours.push_back(holding);
  }
  ASSERT_EQ(ours.size(), 2u);
  const LockHolding &holder = ours[0], &waiter = ours[1];
  EXPECT_EQ(holder.thread, child.shared->holder);
  EXPECT_EQ(waiter.thread, child.shared->waiter);
  EXPECT_GE(holder.released - holder.acquired, 100'000'000u);
  EXPECT_LT(waiter.requested, holder.released) << "it asked while the other had it";
  EXPECT_GE(waiter.acquired, holder.released);
  EXPECT_GE(waiter.released - waiter.acquired, 20'000'000u);
  EXPECT_EQ(watched.counters.dropped_ring_full, 0u);
  EXPECT_EQ(watched.counters.dropped_table_full, 0u);
}

TEST(LockProbe, TellsReadersFromWriters) {
  Child child([](Shared& shared) {
    std::shared_mutex mutex;
    shared.mutex_address = reinterpret_cast<uint64_t>(&mutex);
    {
      const std::shared_lock lock(mutex);
      std::this_thread::sleep_for(5ms);
    }
    const std::unique_lock lock(mutex);
    std::this_thread::sleep_for(5ms);
  });
  WATCH_OR_SKIP(watched, child, kMilli);
  std::vector<LockMode> modes;
  for (const LockHolding& holding : watched.holdings) {
    if (holding.address == child.shared->mutex_address) modes.push_back(holding.mode);
  }
  EXPECT_EQ(modes, (std::vector<LockMode>{LockMode::kRead, LockMode::kWrite}));
}

TEST(LockProbe, WhatIsStillHeldOrWantedIsTold) {
  Child child([](Shared& shared) {
    static std::mutex mutex;
    shared.mutex_address = reinterpret_cast<uint64_t>(&mutex);
    mutex.lock();
    shared.holder = static_cast<uint32_t>(gettid());
    std::thread([&] {
      shared.waiter = static_cast<uint32_t>(gettid());
      mutex.lock();
    }).detach();
    while (shared.waiter == 0) std::this_thread::sleep_for(1ms);
    // Longer than it takes to call mutex.lock(); else the test says so.
    std::this_thread::sleep_for(50ms);
  });
  WATCH_OR_SKIP(watched, child, kMilli);
  bool held = false, wanted = false;
  for (const LockHolding& holding : watched.unfinished) {
    if (holding.address != child.shared->mutex_address) continue;
    EXPECT_EQ(holding.released, 0u);
    held |= holding.thread == child.shared->holder && holding.acquired != 0;
    wanted |= holding.thread == child.shared->waiter && holding.acquired == 0;
  }
  EXPECT_TRUE(held);
  EXPECT_TRUE(wanted);
}

TEST(LockProbe, CountsWhatItDoesNotTell) {
  Child child([](Shared& shared) {
    std::mutex mutex;
    shared.mutex_address = reinterpret_cast<uint64_t>(&mutex);
    for (int i = 0; i < 500; ++i) const std::lock_guard lock(mutex);
    mutex.lock();
    std::thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
    mutex.unlock();
    pthread_mutex_t recursive;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    for (int i = 0; i < 3; ++i) pthread_mutex_lock(&recursive);
    std::this_thread::sleep_for(60ms);
    for (int i = 0; i < 3; ++i) pthread_mutex_unlock(&recursive);
    shared.holder = static_cast<uint32_t>(gettid());
  });
  // A loaded machine may stop a thread anywhere, so holdings of no length get 50 ms.
  WATCH_OR_SKIP(watched, child, 50 * kMilli);
  EXPECT_GE(watched.counters.brief, 490u);
  EXPECT_EQ(watched.counters.gave_up, 1u);
  const auto recursive =
      std::count_if(watched.holdings.begin(), watched.holdings.end(), [&](const LockHolding& h) {
        return h.address != child.shared->mutex_address && h.thread == child.shared->holder;
      });
  EXPECT_EQ(recursive, 1) << "locked three times, held once";
}

TEST(LockProbe, WaitingOnAConditionGivesTheMutexUp) {
  Child child([](Shared& shared) {
    std::mutex mutex;
    shared.mutex_address = reinterpret_cast<uint64_t>(&mutex);
    std::condition_variable ready;
    bool set = false;
    std::atomic<bool> locked{false};
    std::thread waiter([&] {
      shared.waiter = static_cast<uint32_t>(gettid());
      std::unique_lock lock(mutex);
      locked = true;
      while (!set) ready.wait(lock);
      std::this_thread::sleep_for(30ms);  // with the mutex
    });
    while (!locked) std::this_thread::yield();
    {
      // Not to be had before the other waits on the condition.
      const std::lock_guard lock(mutex);
      set = true;
    }
    ready.notify_one();
    waiter.join();
  });
  WATCH_OR_SKIP(watched, child, 0);
  // The last: a wait may end for no reason and begin again.
  const auto after = std::find_if(
      watched.holdings.rbegin(), watched.holdings.rend(), [&](const LockHolding& holding) {
        return holding.after_condition && holding.address == child.shared->mutex_address;
      });
  ASSERT_NE(after, watched.holdings.rend());
  EXPECT_EQ(after->thread, child.shared->waiter);
  EXPECT_EQ(after->acquired, 0u) << "which cannot be seen";
  EXPECT_GE(after->released - after->requested, 30'000'000u);
  EXPECT_EQ(watched.counters.unpaired, 0u) << "a call met one probe of each kind";
}

// A thread cancelled where a return probe stands would not find its way up the stack.
TEST(LockProbe, ThreadsCancelledInAConditionStillUnwind) {
  Child child([](Shared& shared) {
    static std::mutex mutex;
    static std::condition_variable never;
    static std::atomic<int> unwound{0};
    static std::atomic<bool> waits{false};
    struct Guard {
      ~Guard() { unwound = 1; }
    };
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          const Guard guard;
          pthread_mutex_lock(mutex.native_handle());
          waits = true;
          while (true) pthread_cond_wait(never.native_handle(), mutex.native_handle());
        },
        nullptr);
    while (!waits) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    shared.holder = static_cast<uint32_t>(unwound.load());
  });
  WATCH_OR_SKIP(watched, child, 0);
  EXPECT_EQ(child.shared->holder, 1u);
}

TEST(LockProbe, NoSuchProcess) {
  const auto process = WatchedProcess::Look(0x7FFFFFFF);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace wf::watch
