// Exceptions: caught in threads, carried across them, thrown out of call_once, through frames of a cancelled thread.
#include <cstdio>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Noisy {
  explicit Noisy(int n) : n(n) {}
  ~Noisy() { ++destroyed; }
  int n;
  static thread_local int destroyed;
};
thread_local int Noisy::destroyed = 0;

int Throw(int depth) {
  Noisy noisy(depth);
  if (depth == 0) throw std::runtime_error("from below");
  return Throw(depth - 1) + noisy.n;
}

int main() {
  std::vector<std::exception_ptr> caught(4);
  std::vector<int> destroyed(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) {
        try {
          Throw(i + 3);
        } catch (...) {
          caught[i] = std::current_exception();
        }
      }
      destroyed[i] = Noisy::destroyed;
    });
  for (auto& one : threads) one.join();
  for (int i = 0; i < 4; ++i) {
    try {
      std::rethrow_exception(caught[i]);
    } catch (const std::exception& error) {
      std::printf("%s %d, ", error.what(), destroyed[i]);
    }
  }
  std::once_flag flag;
  int tries = 0;
  for (int i = 0; i < 4; ++i) {
    try {
      std::call_once(flag, [&] {
        if (++tries < 3) throw std::string("not yet");
      });
      std::printf("done ");
    } catch (const std::string& word) {
      std::printf("%s ", word.c_str());
    }
  }
  std::mutex mutex;
  try {
    std::lock_guard guard(mutex);
    throw 1;
  } catch (int) {
  }
  std::printf("tries %d, free %d\n", tries, mutex.try_lock());
}
