// C = A B, rows of C by thread: much reading of what all share, writing apart.
#include "program.h"

using namespace recorded;

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  size_t n = 64;
  while (static_cast<double>(n * n * n) < 1.0e9 * arguments.scale) n += 16;
  Random random(2);
  std::vector<int32_t> a(n * n), b(n * n), c(n * n);
  for (int32_t& x : a) x = static_cast<int32_t>(random.Next() % 100);
  for (int32_t& x : b) x = static_cast<int32_t>(random.Next() % 100);
  auto work = [&](int index) {
    const Slice rows = SliceOf(n, index, arguments.threads);
    for (size_t i = rows.begin; i < rows.end; ++i) {
      for (size_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (size_t k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
      }
    }
  };
  RunThreads(arguments.threads, work);
  uint64_t sum = 0;
  for (size_t i = 0; i < c.size(); ++i) sum = sum * 31 + static_cast<uint32_t>(c[i]);
  std::printf("%zu %llu\n", n, static_cast<unsigned long long>(sum));
  return 0;
}
