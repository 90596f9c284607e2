// Simulated annealing of a netlist: threads exchange the places of random elements by atomic operations, without locks,
// and meet at a barrier for every temperature. Which exchanges happen depends on the schedule; that every element keeps
// a place of its own does not, and is what is printed.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "program.h"

using namespace recorded;

namespace {

constexpr size_t kLinks = 5;
constexpr int kTemperatures = 40;

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const size_t size = 100'000;
  const auto moves = static_cast<size_t>(70'000 * arguments.scale);
  Random random(5);
  std::vector<uint32_t> links(size * kLinks);
  for (uint32_t& link : links) link = static_cast<uint32_t>(random.Next() % size);
  // Place and occupant: -1 marks a place that is being exchanged.
  std::vector<std::atomic<int64_t>> occupant(size);
  std::vector<std::atomic<uint32_t>> place(size);
  for (size_t i = 0; i < size; ++i) {
    occupant[i] = static_cast<int64_t>(i);
    place[i] = static_cast<uint32_t>(i);
  }
  const auto distance = [](uint32_t a, uint32_t b) {
    constexpr int64_t kWidth = 320;
    return std::abs(a % kWidth - b % kWidth) + std::abs(a / kWidth - b / kWidth);
  };
  const auto cost = [&](size_t element, uint32_t at) {
    int64_t sum = 0;
    for (size_t i = 0; i < kLinks; ++i)
      sum += distance(at, place[links[element * kLinks + i]].load(std::memory_order_relaxed));
    return sum;
  };
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(arguments.threads));
  auto work = [&](int index) {
    Random mine(static_cast<uint64_t>(index) + 100);
    double temperature = 2'000;
    const Slice slice = SliceOf(moves, index, arguments.threads);
    for (int step = 0; step < kTemperatures; ++step) {
      for (size_t move = slice.begin; move < slice.end; ++move) {
        const auto a = static_cast<uint32_t>(mine.Next() % size),
                   b = static_cast<uint32_t>(mine.Next() % size);
        if (a == b) continue;
        const int64_t x = occupant[a].exchange(-1);
        if (x < 0) continue;
        const int64_t y = occupant[b].exchange(-1);
        if (y < 0) {
          occupant[a].store(x);
          continue;
        }
        const auto first = static_cast<size_t>(x), second = static_cast<size_t>(y);
        const int64_t change = cost(first, b) + cost(second, a) - cost(first, a) - cost(second, b);
        const bool taken =
            change < 0 || mine.Uniform() < std::exp(-static_cast<double>(change) / temperature);
        if (taken) {
          place[first].store(b, std::memory_order_relaxed);
          place[second].store(a, std::memory_order_relaxed);
        }
        occupant[a].store(taken ? y : x);
        occupant[b].store(taken ? x : y);
      }
      temperature *= 0.8;
      pthread_barrier_wait(&barrier);
    }
  };
  RunThreads(arguments.threads, work);
  pthread_barrier_destroy(&barrier);
  size_t right = 0;
  for (size_t i = 0; i < size; ++i) right += occupant[place[i]] == static_cast<int64_t>(i) ? 1 : 0;
  std::printf("%zu of %zu elements have a place of their own\n", right, size);
  return right == size ? 0 : 1;
}
