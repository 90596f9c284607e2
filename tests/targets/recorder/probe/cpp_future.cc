// async, futures, promises and packaged tasks.
#include <chrono>
#include <cstdio>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

int main() {
  std::vector<int> numbers(10000);
  std::iota(numbers.begin(), numbers.end(), 1);
  std::vector<std::future<long>> parts;
  for (int i = 0; i < 4; ++i)
    parts.push_back(std::async(std::launch::async, [&, i] {
      return std::accumulate(numbers.begin() + i * 2500, numbers.begin() + (i + 1) * 2500, 0L);
    }));
  long sum = 0;
  for (auto& part : parts) sum += part.get();
  auto lazy = std::async(std::launch::deferred, [] { return 5; });
  std::promise<int> promise;
  auto future = promise.get_future();
  std::thread setter([&] { promise.set_value(42); });
  const int value = future.get();
  setter.join();
  std::promise<void> never;
  const bool timed_out =
      never.get_future().wait_for(std::chrono::milliseconds(2)) == std::future_status::timeout;
  std::packaged_task<int(int)> task([](int n) {
    if (n < 0) throw std::runtime_error("negative");
    return n * 2;
  });
  auto result = task.get_future();
  std::thread(std::move(task), -1).join();
  try {
    result.get();
  } catch (const std::exception& error) {
    std::printf("caught %s\n", error.what());
  }
  std::promise<int> shared_promise;
  std::shared_future<int> shared = shared_promise.get_future().share();
  std::vector<std::thread> readers;
  std::atomic<int> total{0};
  for (int i = 0; i < 4; ++i) readers.emplace_back([&] { total += shared.get(); });
  shared_promise.set_value(3);
  for (auto& one : readers) one.join();
  std::printf("%ld %d %d %d %d\n", sum, lazy.get(), value, timed_out, total.load());
}
