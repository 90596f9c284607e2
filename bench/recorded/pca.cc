// Means and covariances of the rows of a matrix; threads take the next row from a counter under a lock, as in Phoenix.
// Sums are taken in floating point, one after the other, so the result is the same with any number of threads.
#include "program.h"

using namespace recorded;

namespace {

class Rows {
 public:
  explicit Rows(size_t count) : count_(count) {}
  bool Next(size_t& row) {
    pthread_mutex_lock(&lock_);
    row = next_++;
    pthread_mutex_unlock(&lock_);
    return row < count_;
  }

 private:
  size_t count_;
  size_t next_ = 0;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const size_t rows = 640, columns = static_cast<size_t>(3'000 * arguments.scale);
  Random random(3);
  std::vector<int32_t> matrix(rows * columns);
  for (int32_t& x : matrix) x = static_cast<int32_t>(random.Next() % 1000);
  std::vector<double> means(rows), covariances(rows * rows);

  Rows mean_rows(rows);
  auto find_means = [&](int) {
    for (size_t row; mean_rows.Next(row);) {
      double sum = 0;
      for (size_t j = 0; j < columns; ++j) sum += matrix[row * columns + j];
      means[row] = sum / static_cast<double>(columns);
    }
  };
  RunThreads(arguments.threads, find_means);

  Rows covariance_rows(rows);
  auto find_covariances = [&](int) {
    for (size_t row; covariance_rows.Next(row);) {
      for (size_t other = row; other < rows; ++other) {
        double sum = 0;
        for (size_t j = 0; j < columns; ++j)
          sum += (matrix[row * columns + j] - means[row]) *
                 (matrix[other * columns + j] - means[other]);
        covariances[row * rows + other] = covariances[other * rows + row] =
            sum / static_cast<double>(columns - 1);
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
