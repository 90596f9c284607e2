// Means and covariances of the rows of a matrix; threads take the next rows from a counter under a lock, as in Phoenix,
// but several at once, so that a row that was fetched is used for all of them.
// Sums are taken in floating point, one after the other, so the result is the same with any number of threads.
#include <algorithm>

#include "program.h"

using namespace recorded;

namespace {

class Rows {
 public:
  Rows(size_t count, size_t band) : count_(count), band_(band) {}
  bool Next(Slice& band) {
    pthread_mutex_lock(&lock_);
    const size_t first = next_;
    next_ += band_;
    pthread_mutex_unlock(&lock_);
    band = {std::min(first, count_), std::min(first + band_, count_)};
    return band.begin < band.end;
  }

 private:
  size_t count_, band_;
  size_t next_ = 0;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const size_t rows = 640, columns = static_cast<size_t>(3'000 * arguments.scale);
  const auto band = static_cast<size_t>(argc > 3 ? std::atoi(argv[3]) : 8);  // rows a lock
  Random random(3);
  std::vector<int32_t> matrix(rows * columns);
  for (int32_t& x : matrix) x = static_cast<int32_t>(random.Next() % 1000);
  std::vector<double> means(rows), covariances(rows * rows);

  Rows mean_rows(rows, band);
  auto find_means = [&](int) {
    for (Slice band; mean_rows.Next(band);) {
      for (size_t row = band.begin; row < band.end; ++row) {
        double sum = 0;
        for (size_t j = 0; j < columns; ++j) sum += matrix[row * columns + j];
        means[row] = sum / static_cast<double>(columns);
      }
    }
  };
  RunThreads(arguments.threads, find_means);

  const auto covariance = [&](size_t row, size_t other) {
    double sum = 0;
    for (size_t j = 0; j < columns; ++j)
      sum +=
          (matrix[row * columns + j] - means[row]) * (matrix[other * columns + j] - means[other]);
    return sum / static_cast<double>(columns - 1);
  };
  Rows covariance_rows(rows, band);
  auto find_covariances = [&](int) {
    for (Slice band; covariance_rows.Next(band);) {
      for (size_t other = band.begin; other < rows; ++other) {
        for (size_t row = band.begin; row < band.end && row <= other; ++row)
          covariances[row * rows + other] = covariances[other * rows + row] =
              covariance(row, other);
      }
    }
  };
  RunThreads(arguments.threads, find_covariances);
  double trace = 0, sum = 0;
  for (size_t row = 0; row < rows; ++row) trace += covariances[row * rows + row];
  for (const double x : covariances) sum += x;
  std::printf("%.6f %.6f\n", trace, sum);
  return 0;
}
