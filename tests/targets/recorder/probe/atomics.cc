// Atomic counters, compare and swap, a lock-free stack, fences, 16-byte atomics.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

struct Node {
  int value;
  Node* next;
};

int main() {
  std::atomic<long> added{0}, swapped{0};
  std::atomic<Node*> top{nullptr};
  std::vector<Node> nodes(4000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) {
        added.fetch_add(1, std::memory_order_relaxed);
        long old = swapped.load();
        while (!swapped.compare_exchange_weak(old, old + 2)) {
        }
        Node& node = nodes[t * 1000 + i];
        node.value = t * 1000 + i;
        node.next = top.load();
        while (!top.compare_exchange_weak(node.next, &node)) {
        }
      }
    });
  for (auto& one : threads) one.join();
  long sum = 0, count = 0;
  for (Node* node = top; node != nullptr; node = node->next) sum += node->value, ++count;
  // A message passed by a fence.
  int data = 0;
  std::atomic<bool> ready{false};
  std::thread sender([&] {
    data = 99;
    std::atomic_thread_fence(std::memory_order_release);
    ready.store(true, std::memory_order_relaxed);
  });
  while (!ready.load(std::memory_order_relaxed)) std::this_thread::yield();
  std::atomic_thread_fence(std::memory_order_acquire);
  std::printf("%ld %ld %ld %ld %d\n", added.load(), swapped.load(), count, sum, data);
  sender.join();
}
