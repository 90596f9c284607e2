// Means and covariances of the rows of a matrix; threads take the next row from a counter under a lock, as in Phoenix.
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
  const size_t rows = 640, columns = static_cast<size_t>(4'000 * arguments.scale);
  Random random(3);
  std::vector<int32_t> matrix(rows * columns);
  for (int32_t& x : matrix) x = static_cast<int32_t>(random.Next() % 1000);
  std::vector<int64_t> means(rows), covariances(rows * rows);

  Rows mean_rows(rows);
  auto find_means = [&](int) {
    for (size_t row; mean_rows.Next(row);) {
      int64_t sum = 0;
      for (size_t j = 0; j < columns; ++j) sum += matrix[row * columns + j];
      means[row] = sum / static_cast<int64_t>(columns);
    }
  };
  RunThreads(arguments.threads, find_means);

  Rows covariance_rows(rows);
  auto find_covariances = [&](int) {
    for (size_t row; covariance_rows.Next(row);) {
      for (size_t other = row; other < rows; ++other) {
        int64_t sum = 0;
        for (size_t j = 0; j < columns; ++j)
          sum += (matrix[row * columns + j] - means[row]) *
                 (matrix[other * columns + j] - means[other]);
        covariances[row * rows + other] = covariances[other * rows + row] =
            sum / static_cast<int64_t>(columns - 1);
      }
    }
  };
  RunThreads(arguments.threads, find_covariances);
  uint64_t sum = 0;
  for (const int64_t x : covariances) sum = sum * 31 + static_cast<uint64_t>(x);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
  return 0;
}
