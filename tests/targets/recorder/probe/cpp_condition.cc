// Condition variables of C++, with stop tokens and any lock.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

int main() {
  std::mutex mutex;
  std::condition_variable condition;
  int turn = 0, rounds = 0;
  const auto play = [&](int me) {
    for (int i = 0; i < 500; ++i) {
      std::unique_lock lock(mutex);
      condition.wait(lock, [&] { return turn == me; });
      turn = 1 - me;
      ++rounds;
      condition.notify_one();
    }
  };
  std::thread a(play, 0), b(play, 1);
  a.join();
  b.join();
  std::unique_lock lock(mutex);
  const bool timed_out =
      condition.wait_for(lock, std::chrono::milliseconds(3)) == std::cv_status::timeout;
  lock.unlock();
  std::shared_mutex shared;
  std::condition_variable_any any;
  bool ready = false;
  std::jthread waiter([&](std::stop_token stop) {
    std::shared_lock reader(shared);
    const bool got = any.wait(reader, stop, [&] { return ready; });
    std::printf("any: %d\n", got);
  });
  waiter.request_stop();
  waiter.join();
  std::thread second([&] {
    std::unique_lock writer(shared);
    any.wait(writer, [&] { return ready; });
    std::printf("ready\n");
  });
  {
    std::unique_lock writer(shared);
    ready = true;
  }
  any.notify_all();
  second.join();
  std::printf("rounds %d timed out %d\n", rounds, timed_out);
}
