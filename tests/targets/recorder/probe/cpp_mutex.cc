// std::thread with every mutex of the library.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

template <typename Mutex>
long Count(int threads, int rounds) {
  Mutex mutex;
  long counter = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      for (int n = 0; n < rounds; ++n) {
        std::lock_guard guard(mutex);
        ++counter;
      }
    });
  for (auto& one : all) one.join();
  return counter;
}

int main() {
  std::printf("%ld %ld %ld %ld %ld\n", Count<std::mutex>(4, 1000),
              Count<std::recursive_mutex>(4, 1000), Count<std::timed_mutex>(4, 1000),
              Count<std::shared_mutex>(4, 1000), Count<std::shared_timed_mutex>(4, 1000));
  std::timed_mutex timed;
  timed.lock();
  std::thread([&] {
    std::printf(
        "try %d, for %d, until %d\n", timed.try_lock(),
        timed.try_lock_for(std::chrono::milliseconds(2)),
        timed.try_lock_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(2)));
  }).join();
  timed.unlock();
  std::mutex a, b;
  long both = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) {
      std::scoped_lock lock(a, b);
      ++both;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    std::scoped_lock lock(b, a);
    ++both;
  }
  other.join();
  std::shared_mutex shared;
  long readers = 0;
  {
    std::shared_lock one(shared), two(shared);
    readers = one.owns_lock() + two.owns_lock();
    std::printf("write while read: %d\n", shared.try_lock());
  }
  std::printf("both %ld readers %ld\n", both, readers);
}
