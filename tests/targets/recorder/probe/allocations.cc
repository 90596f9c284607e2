// Deep allocation patterns: made in one thread, grown in another, freed in a third; large and small; aligned.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

struct Tree {
  std::unique_ptr<Tree> left, right;
  std::string text;
};
std::unique_ptr<Tree> Grow(int depth) {
  auto tree = std::make_unique<Tree>();
  tree->text = std::string(static_cast<size_t>(depth) * 7, 'x');
  if (depth > 0) tree->left = Grow(depth - 1), tree->right = Grow(depth - 1);
  return tree;
}
size_t Size(const Tree* tree) {
  return tree == nullptr ? 0 : tree->text.size() + Size(tree->left.get()) + Size(tree->right.get());
}

int main() {
  std::mutex mutex;
  std::queue<std::unique_ptr<Tree>> handed;
  size_t total = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        auto tree = Grow(6 + t);
        std::lock_guard guard(mutex);
        total += Size(tree.get());
        handed.push(std::move(tree));
        if (handed.size() > 4) handed.pop();
      }
      std::map<int, std::vector<char>> blocks;
      for (int i = 0; i < 300; ++i) {
        blocks[i % 40].assign(static_cast<size_t>(1) << (i % 18), static_cast<char>(i));
        if (i % 3 == 0) blocks.erase(i % 20);
      }
      void* large = std::malloc(20 << 20);
      std::memset(large, t, 20 << 20);
      large = std::realloc(large, 30 << 20);
      void* aligned = std::aligned_alloc(4096, 8192);
      std::lock_guard guard(mutex);
      total += static_cast<char*>(large)[12345] + reinterpret_cast<uintptr_t>(aligned) % 4096;
      std::free(large);
      std::free(aligned);
    });
  for (auto& one : threads) one.join();
  std::printf("%zu\n", total);
}
