// Clustering of a stream: blocks of points, for each a series of short steps with a barrier behind every one of them, so
// that the cost of barriers shows.
#include <algorithm>

#include "program.h"

using namespace recorded;

namespace {

constexpr size_t kDimensions = 128;  // these two as PARSEC's larger inputs have them
constexpr size_t kBlock = 16'384;
constexpr size_t kCandidates = 40;

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const int threads = arguments.threads;
  const int blocks = std::max(1, static_cast<int>(8 * arguments.scale));
  Random random(6);
  std::vector<float> points(kBlock * kDimensions);
  std::vector<int64_t> nearest(kBlock);
  std::vector<int64_t> gains(static_cast<size_t>(threads));
  int64_t total = 0, opened = 0;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  auto work = [&](int index) {
    const Slice slice = SliceOf(kBlock, index, threads);
    const auto distance = [&](size_t a, size_t b) {
      // Of whole numbers, so gains add up to the same in any order.
      float sum = 0;
      for (size_t d = 0; d < kDimensions; ++d) {
        const float step = points[a * kDimensions + d] - points[b * kDimensions + d];
        sum += step * step;
      }
      return static_cast<int64_t>(sum);
    };
    for (int block = 0; block < blocks; ++block) {
      if (index == 0) {
        for (float& x : points) x = static_cast<float>(random.Next() % 256);
      }
      pthread_barrier_wait(&barrier);
      for (size_t i = slice.begin; i < slice.end; ++i) nearest[i] = distance(i, 0);
      pthread_barrier_wait(&barrier);
      for (size_t candidate = 1; candidate <= kCandidates; ++candidate) {
        const size_t centre = candidate * 97 % kBlock;
        int64_t gain = 0;
        for (size_t i = slice.begin; i < slice.end; ++i)
          gain += std::max<int64_t>(0, nearest[i] - distance(i, centre));
        gains[static_cast<size_t>(index)] = gain;
        pthread_barrier_wait(&barrier);
        int64_t all = 0;
        for (const int64_t part : gains) all += part;
        const bool open = all > 80'000'000;
        if (open) {
          for (size_t i = slice.begin; i < slice.end; ++i)
            nearest[i] = std::min(nearest[i], distance(i, centre));
        }
        if (index == 0 && open) {
          total += all;
          ++opened;
        }
        pthread_barrier_wait(&barrier);
      }
    }
  };
  RunThreads(threads, work);
  pthread_barrier_destroy(&barrier);
  std::printf("%lld centres, gain %lld\n", static_cast<long long>(opened),
              static_cast<long long>(total));
  return 0;
}
