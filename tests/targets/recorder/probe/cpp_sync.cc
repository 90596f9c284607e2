// Latch, barrier, semaphores, atomic waits, stop tokens, flags.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

int main() {
  std::latch latch(4);
  std::atomic<int> arrived{0};
  int completions = 0;
  std::barrier barrier(4, [&]() noexcept { ++completions; });
  std::counting_semaphore<8> slots(2);
  std::binary_semaphore done(0);
  std::atomic<int> inside{0}, most{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      latch.arrive_and_wait();
      ++arrived;
      for (int round = 0; round < 50; ++round) barrier.arrive_and_wait();
      for (int round = 0; round < 100; ++round) {
        slots.acquire();
        const int now = ++inside;
        int seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        --inside;
        slots.release();
      }
      if (arrived.fetch_add(1) == 7) done.release();
    });
  done.acquire();
  threads.clear();
  std::atomic<int> word{0};
  std::thread waiter([&] {
    word.wait(0);
    word.store(word.load() + 1);
    word.notify_all();
  });
  word.store(1);
  word.notify_one();
  word.wait(1);
  waiter.join();
  std::atomic_flag flag = ATOMIC_FLAG_INIT;
  std::thread setter([&] {
    flag.test_and_set();
    flag.notify_one();
  });
  flag.wait(false);
  setter.join();
  std::printf("arrived %d rounds %d at most two: %d word %d try %d\n", arrived.load(), completions,
              most.load() <= 2, word.load(), done.try_acquire());
}
