// Moves bytes between cells of memory in many threads, at random, and says what it did: from that the true sources of
// each output are known to the byte. What a thread did stands in its own memory until the end, and a cell's version in the
// cell, so that saying so joins nothing that the flow itself does not join.
//
//   dataflow SEED INPUT OUTPUT
//
// Lines: "I CELL VERSION OFFSET" a cell was filled from the input; "C FROM VERSION TO VERSION" copied; "M …" mixed into;
// "O CELL VERSION OFFSET" written to the output; "S CELL" the cell is guarded by a lock that no recorder sees.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

constexpr int kCells = 24;
constexpr int kThreads = 4;
constexpr int kSteps = 30;
constexpr int kBytes = 16;
constexpr int kInputPieces = 256;
constexpr size_t kPage = 4096;

struct Cell {
  uint8_t bytes[kBytes];
  uint64_t version;
};

struct alignas(kPage) Guard {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<uint32_t> flag{0};
  bool hidden = false;

  void Take() {
    if (!hidden) {
      pthread_mutex_lock(&mutex);
      return;
    }
    while (flag.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  void Give() {
    if (hidden)
      flag.store(0, std::memory_order_release);
    else
      pthread_mutex_unlock(&mutex);
  }
};

struct Step {
  char kind;
  int from;
  uint64_t from_version;
  int to;
  uint64_t to_version;
  long offset;
};

Cell* cells[kCells];
Guard guards[kCells];
int input, output;
unsigned seed;

struct alignas(kPage) Log {
  Step steps[kSteps];
};
Log logs[kThreads];

// The two guards in one order everywhere.
void TakeBoth(int a, int b) {
  guards[a < b ? a : b].Take();
  guards[a < b ? b : a].Take();
}

Step Run(std::mt19937& random, int thread, int number) {
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int from = draw(kCells);
  Step step = {};
  step.from = from;
  const int kind = draw(10);
  if (kind < 3) {
    step.kind = 'I';
    step.offset = draw(kInputPieces) * kBytes;
    guards[from].Take();
    if (pread(input, cells[from]->bytes, kBytes, step.offset) != kBytes) abort();
    step.from_version = ++cells[from]->version;
    guards[from].Give();
  } else if (kind < 5) {
    step.kind = 'O';
    step.offset = (thread * kSteps + number) * kBytes;
    guards[from].Take();
    if (pwrite(output, cells[from]->bytes, kBytes, step.offset) != kBytes) abort();
    step.from_version = cells[from]->version;
    guards[from].Give();
  } else {
    step.kind = kind < 8 ? 'M' : 'C';
    step.to = (from + 1 + draw(kCells - 1)) % kCells;
    TakeBoth(from, step.to);
    for (int i = 0; i < kBytes; ++i) {
      const uint8_t before = step.kind == 'M' ? cells[step.to]->bytes[i] : 0;
      cells[step.to]->bytes[i] = static_cast<uint8_t>(before * 3 + cells[from]->bytes[i]);
    }
    step.from_version = cells[from]->version;
    step.to_version = ++cells[step.to]->version;
    guards[from].Give();
    guards[step.to].Give();
  }
  return step;
}

void* Work(void* given) {
  const int thread = *static_cast<int*>(given);
  std::mt19937 random(seed * 977 + static_cast<unsigned>(thread));
  for (int i = 0; i < kSteps; ++i) {
    const Step step = Run(random, thread, i);
    logs[thread].steps[i] = step;
  }
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  seed = static_cast<unsigned>(std::atoi(argv[1]));
  input = open(argv[2], O_RDONLY);
  output = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (input < 0 || output < 0) return 2;

  std::mt19937 random(seed);
  // Some cells have a page for themselves, others share one.
  auto* memory = static_cast<uint8_t*>(
      mmap(nullptr, kCells * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  size_t page = 0, within = 0;
  for (int i = 0; i < kCells; ++i) {
    if (within == 0 || random() % 3 != 0) {
      page += 1;
      within = 0;
    }
    cells[i] = reinterpret_cast<Cell*>(memory + (page - 1) * kPage + within * 128);
    within += 1;
    guards[i].hidden = random() % 4 == 0;
  }
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], nullptr, Work, &numbers[i]);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  for (int i = 0; i < kCells; ++i)
    if (guards[i].hidden) printf("S %d\n", i);
  for (const Log& log : logs) {
    for (const Step& s : log.steps) {
      if (s.kind == 'I' || s.kind == 'O')
        printf("%c %d %lu %ld\n", s.kind, s.from, s.from_version, s.offset);
      else
        printf("%c %d %lu %d %lu\n", s.kind, s.from, s.from_version, s.to, s.to_version);
    }
  }
  return 0;
}
