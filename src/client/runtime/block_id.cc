#include "client/runtime/block_id.h"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>

#include <ctime>

namespace wherefore::client {
namespace {

struct ForkWatch {
  ForkWatch() {
    pthread_atfork(nullptr, nullptr,
                   [] { hot_flags.fork_generation.fetch_add(1, std::memory_order_relaxed); });
  }
};

// SplitMix64: 64 bits of state are enough, since the seed comes from the kernel and ids need be distinct, not secret.
struct Generator {
  uint64_t state = 0;
  uint32_t generation = 0;  // 0: not seeded yet

  uint64_t Next() {
    const uint32_t now = ForkGeneration();
    if (generation != now) {
      generation = now;
      if (getrandom(&state, sizeof state, GRND_NONBLOCK) != sizeof state) {
        // Early in boot: time, process and stack address still tell processes and threads apart.
        timespec time{};
        clock_gettime(CLOCK_REALTIME, &time);
        state = static_cast<uint64_t>(time.tv_nsec) << 32 ^ static_cast<uint64_t>(time.tv_sec) ^
                static_cast<uint64_t>(getpid()) << 20 ^ reinterpret_cast<uintptr_t>(this);
      }
    }
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
  }
};

thread_local Generator generator;

}  // namespace

uint32_t ForkGeneration() {
  static const ForkWatch watch;
  return LastForkGeneration();
}

TraceId NewTraceId() {
  TraceId id;
  do {
    id = {generator.Next(), generator.Next()};
  } while (!id.valid());
  return id;
}

BlockId NewBlockId() {
  BlockId id;
  do {
    id = generator.Next();
  } while (id == 0);
  return id;
}

}  // namespace wherefore::client
