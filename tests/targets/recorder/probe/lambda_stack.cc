// Lambdas that capture their parent's stack, threads within threads.
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

long Tree(int depth) {
  if (depth == 0) return 1;
  long left = 0, right = 0;
  std::array<char, 3000> local{};
  std::thread other([&] {
    left = Tree(depth - 1);
    local[depth] = static_cast<char>('a' + depth);
  });
  right = Tree(depth - 1);
  other.join();
  return left + right + local[depth];
}

int main() {
  std::vector<std::string> words(6);
  int index = 0;
  {
    std::vector<std::thread> threads;
    for (std::string& word : words) {
      threads.emplace_back([&word, n = index] {
        word = std::string(static_cast<size_t>(n + 1) * 20, static_cast<char>('a' + n));
      });
      ++index;
    }
    for (auto& one : threads) one.join();
  }
  for (const std::string& word : words) std::printf("%zu%c ", word.size(), word[0]);
  std::printf("%ld\n", Tree(5));
}
