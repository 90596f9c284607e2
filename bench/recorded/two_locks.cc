// Does recording serialise what has nothing to do with each other? Threads on locks of their own: with one thread, or
// with two, each does the same number of short critical sections; prints the seconds it took.
#include <ctime>

#include "program.h"

using namespace recorded;

namespace {

struct alignas(256) Account {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  uint64_t sum = 0;
};

double Now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const auto sections = static_cast<uint64_t>(200'000 * arguments.scale);
  const int draws = argc > 3 ? std::atoi(argv[3]) : 3'000;
  std::vector<Account> accounts(static_cast<size_t>(arguments.threads));
  auto work = [&](int index) {
    Account& account = accounts[static_cast<size_t>(index)];
    Random random(static_cast<uint64_t>(index));
    for (uint64_t i = 0; i < sections; ++i) {
      uint64_t x = 0;
      for (int j = 0; j < draws; ++j) x += random.Next();
      pthread_mutex_lock(&account.lock);
      account.sum += x;
      pthread_mutex_unlock(&account.lock);
    }
  };
  const double began = Now();
  RunThreads(arguments.threads, work);
  std::printf("%.6f\n", Now() - began);
  return 0;
}
