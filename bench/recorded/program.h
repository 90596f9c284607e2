// What the twelve recorded programs share. They stand for Phoenix's and PARSEC's, which the paper measures: the same
// patterns of threads, locks, barriers and memory, written anew. Each is called PROGRAM THREADS SCALE [INPUT] and prints
// a result that does not depend on the number of threads, so that a recorded run can be held against a native one.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace recorded {

struct Arguments {
  int threads;
  double scale;  // of the work; 1 takes at least half a second
  const char* input;
};

inline Arguments Parse(int argc, char** argv) {
  const Arguments arguments{argc > 1 ? std::atoi(argv[1]) : 0, argc > 2 ? std::atof(argv[2]) : 1,
                            argc > 3 ? argv[3] : nullptr};
  if (arguments.threads < 1 || arguments.threads > 1024 || !(arguments.scale > 0)) {
    std::fprintf(stderr, "usage: %s THREADS [SCALE [INPUT]]\n", argv[0]);
    std::exit(2);
  }
  return arguments;
}

// work(i) in a new thread each; returns when all are done.
template <class Work>
void RunThreads(int count, Work& work) {
  struct Start {
    Work* work;
    int index;
  };
  std::vector<Start> starts(static_cast<size_t>(count));
  std::vector<pthread_t> threads(static_cast<size_t>(count));
  for (size_t i = 0; i < starts.size(); ++i) {
    starts[i] = {&work, static_cast<int>(i)};
    const auto run = [](void* at) -> void* {
      const Start& start = *static_cast<Start*>(at);
      (*start.work)(start.index);
      return nullptr;
    };
    if (pthread_create(&threads[i], nullptr, run, &starts[i]) != 0) {
      std::fputs("a thread could not be created\n", stderr);
      std::exit(1);
    }
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

// The part of `size` that is `index`'s of `count`.
struct Slice {
  size_t begin, end;
};
inline Slice SliceOf(size_t size, int index, int count) {
  const auto i = static_cast<size_t>(index), n = static_cast<size_t>(count);
  return {size * i / n, size * (i + 1) / n};
}

inline std::string_view MapInput(const char* path) {
  const int file = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0) {
    std::fprintf(stderr, "%s: cannot be read\n", path != nullptr ? path : "no input");
    std::exit(1);
  }
  const auto size = static_cast<size_t>(status.st_size);
  void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (at == MAP_FAILED) {
    std::perror(path);
    std::exit(1);
  }
  return {static_cast<const char*>(at), size};
}

// Moves the bounds of a slice of text to the next `separator`, so that no piece is split or read twice.
inline std::string_view WholePieces(std::string_view text, Slice slice, char separator) {
  const auto forward = [&](size_t at) {
    if (at == 0) return at;
    const size_t found = text.find(separator, at - 1);
    return found == std::string_view::npos ? text.size() : found + 1;
  };
  const size_t begin = forward(slice.begin), end = forward(slice.end);
  return text.substr(begin, end - begin);
}

class Random {  // splitmix64
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

inline uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace recorded
