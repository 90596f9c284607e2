// The straight line through many points: a mapped input, read once, five sums for each thread.
#include "program.h"

using namespace recorded;

namespace {

struct Sums {
  uint64_t x = 0, y = 0, xx = 0, yy = 0, xy = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const std::string_view points = MapInput(arguments.input);
  const auto* bytes = reinterpret_cast<const unsigned char*>(points.data());
  std::vector<Sums> parts(static_cast<size_t>(arguments.threads));
  auto work = [&](int index) {
    // As in Phoenix each point is added to the thread's sums in memory, beside those of the others.
    Sums& sums = parts[static_cast<size_t>(index)];
    const Slice slice = SliceOf(points.size() / 2, index, arguments.threads);
    for (size_t i = slice.begin; i < slice.end; ++i) {
      const uint64_t x = bytes[2 * i], y = bytes[2 * i + 1];
      volatile uint64_t& count = sums.x;
      count = count + x;
      sums.y += y;
      sums.xx += x * x;
      sums.yy += y * y;
      sums.xy += x * y;
    }
  };
  RunThreads(arguments.threads, work);
  Sums all;
  for (const Sums& part : parts) {
    all.x += part.x;
    all.y += part.y;
    all.xx += part.xx;
    all.yy += part.yy;
    all.xy += part.xy;
  }
  const auto n = static_cast<double>(points.size() / 2), x = static_cast<double>(all.x),
             y = static_cast<double>(all.y);
  const double b =
      (n * static_cast<double>(all.xy) - x * y) / (n * static_cast<double>(all.xx) - x * x);
  std::printf("a = %.6f, b = %.6f, yy = %llu\n", (y - b * x) / n, b,
              static_cast<unsigned long long>(all.yy));
  return 0;
}
