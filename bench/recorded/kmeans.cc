// k-means as Phoenix runs it: every pass over the points creates its threads anew, so there are hundreds of them.
#include <array>

#include "program.h"

using namespace recorded;

namespace {

constexpr int kPasses = 200;  // at two threads 400 are created
constexpr size_t kDimensions = 8;
constexpr size_t kMeans = 16;
using Point = std::array<int32_t, kDimensions>;

struct Part {
  std::array<std::array<int64_t, kDimensions>, kMeans> sums;
  std::array<int64_t, kMeans> counts;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  Random random(1);
  std::vector<Point> points(static_cast<size_t>(100'000 * arguments.scale));
  for (Point& point : points) {
    for (int32_t& x : point) x = static_cast<int32_t>(random.Next() % 1000);
  }
  std::array<Point, kMeans> means;
  for (Point& mean : means) mean = points[random.Next() % points.size()];
  std::vector<Part> parts(static_cast<size_t>(arguments.threads));
  auto work = [&](int index) {
    Part& part = parts[static_cast<size_t>(index)];
    part = {};
    const Slice slice = SliceOf(points.size(), index, arguments.threads);
    for (size_t i = slice.begin; i < slice.end; ++i) {
      size_t nearest = 0;
      int64_t least = INT64_MAX;
      for (size_t k = 0; k < kMeans; ++k) {
        int64_t distance = 0;
        for (size_t d = 0; d < kDimensions; ++d) {
          const int64_t step = points[i][d] - means[k][d];
          distance += step * step;
        }
        if (distance < least) {
          least = distance;
          nearest = k;
        }
      }
      ++part.counts[nearest];
      for (size_t d = 0; d < kDimensions; ++d) part.sums[nearest][d] += points[i][d];
    }
  };
  for (int pass = 0; pass < kPasses; ++pass) {
    RunThreads(arguments.threads, work);
    for (size_t k = 0; k < kMeans; ++k) {
      int64_t count = 0;
      for (const Part& part : parts) count += part.counts[k];
      for (size_t d = 0; d < kDimensions && count != 0; ++d) {
        int64_t sum = 0;
        for (const Part& part : parts) sum += part.sums[k][d];
        means[k][d] = static_cast<int32_t>(sum / count);
      }
    }
  }
  for (const Point& mean : means) std::printf("%d %d\n", mean[0], mean[kDimensions - 1]);
  return 0;
}
