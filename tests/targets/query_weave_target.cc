// A program that knows nothing of wherefore, for query_weave_test.py. Reads commands from stdin, a word and numbers:
//   add THREADS CALLS   each thread calls Meter::Add so often
//   throw CALLS         every second call leaves Outer and Inner by an exception
//   slow MILLISECONDS   one call of Slow
//   nested DEPTH        one call of Nested, which calls itself
//   read CALLS          so many read() of one byte from /dev/zero
// and answers "done".
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

class Meter {
 public:
  __attribute__((noinline)) void Add(long delta, const std::string& who);
  long total = 0;
};
void Meter::Add(long delta, const std::string& who) {
  total += delta + static_cast<long>(who.size());
  asm volatile("" ::: "memory");
}

__attribute__((noinline)) int Inner(int number) {
  if (number % 2 != 0) throw std::runtime_error("odd");
  asm volatile("" ::: "memory");
  return number;
}
__attribute__((noinline)) int Outer(int number) {
  const std::string guard = "something to clean up " + std::to_string(number);
  const int result = Inner(number);
  asm volatile("" ::"r"(&guard) : "memory");
  return result + 1;
}
__attribute__((noinline)) long Slow(int milliseconds) {
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  return milliseconds;
}
__attribute__((noinline)) int Nested(int depth) {
  usleep(2000);
  const int below = depth > 1 ? Nested(depth - 1) : 0;
  asm volatile("" ::: "memory");
  return below + 1;
}

static void Add(int threads, long calls) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([calls] {
      Meter meter;
      const std::string names[] = {"alice", "bob"};
      for (long i = 0; i < calls; ++i) meter.Add(i, names[i % 2]);
    });
  }
  for (std::thread& thread : running) thread.join();
}

int main() {
  std::string line;
  std::cout << "ready" << std::endl;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string what;
    long a = 0, b = 0;
    words >> what >> a >> b;
    if (what == "add") Add(static_cast<int>(a), b);
    if (what == "slow") Slow(static_cast<int>(a));
    if (what == "nested") Nested(static_cast<int>(a));
    if (what == "throw") {
      for (long i = 0; i < a; ++i) {
        try {
          Outer(static_cast<int>(i));
        } catch (const std::exception&) {
        }
      }
    }
    if (what == "read") {
      const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
      char byte = 0;
      for (long i = 0; i < a; ++i)
        if (read(zero, &byte, 1) != 1) return 1;
      close(zero);
    }
    std::cout << "done" << std::endl;
  }
}
