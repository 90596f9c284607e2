// What a sub-computation costs by the number of pages that it touches: recorded_touch PAGES ROUNDS near|far. Each round
// writes one word of each of so many pages, and ends with a lock. `near`: always the same ones, side by side; `far`: others
// every time, anywhere in 80 MB. Prints the microseconds of a round.
#include <ctime>

#include "program.h"

using namespace recorded;

int main(int argc, char** argv) {
  constexpr size_t kPage = 4096, kPages = 20'000;
  const auto pages = static_cast<size_t>(argc > 1 ? std::atoi(argv[1]) : 0);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 0;
  const bool far = argc > 3 && std::string_view(argv[3]) == "far";
  if (pages < 1 || pages > kPages || rounds < 1) {
    std::fputs("usage: recorded_touch PAGES ROUNDS near|far\n", stderr);
    return 2;
  }
  std::vector<char> memory((kPages + 1) * kPage);
  volatile char* const first = memory.data() + kPage / 2;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Random random(9);
  timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < pages; ++i) {
      const size_t page = far ? random.Next() % kPages : i;
      first[page * kPage] = static_cast<char>(round);
    }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
  }
  clock_gettime(CLOCK_MONOTONIC, &ended);
  const double seconds = static_cast<double>(ended.tv_sec - began.tv_sec) +
                         static_cast<double>(ended.tv_nsec - began.tv_nsec) * 1e-9;
  std::printf("%.2f\n", seconds * 1e6 / rounds);
  return 0;
}
