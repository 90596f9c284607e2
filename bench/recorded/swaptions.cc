// Prices of swaptions by simulated paths of the rate: arithmetic in memory of the thread's own, one task after another.
#include <cmath>

#include "program.h"

using namespace recorded;

namespace {

constexpr size_t kSwaptions = 128;
constexpr size_t kSteps = 40;

double Normal(Random& random) {
  const double u = 1 - random.Uniform(), v = random.Uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v);
}

double Price(size_t which, size_t paths) {
  Random random(1'000 + which);
  std::vector<double> rates(kSteps);
  const double strike = 0.03 + 0.0002 * static_cast<double>(which);
  double sum = 0;
  for (size_t path = 0; path < paths; ++path) {
    rates[0] = 0.04;
    double discount = 1;
    for (size_t step = 1; step < kSteps; ++step) {
      rates[step] = rates[step - 1] + 0.05 * (0.045 - rates[step - 1]) + 0.003 * Normal(random);
      discount *= std::exp(-rates[step] / 12);
    }
    sum += discount * std::fmax(0, rates[kSteps - 1] - strike);
  }
  return sum / static_cast<double>(paths);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = Parse(argc, argv);
  const auto paths = static_cast<size_t>(6'000 * arguments.scale);
  std::vector<double> prices(kSwaptions);
  auto work = [&](int index) {
    const Slice slice = SliceOf(kSwaptions, index, arguments.threads);
    for (size_t i = slice.begin; i < slice.end; ++i) prices[i] = Price(i, paths);
  };
  RunThreads(arguments.threads, work);
  double sum = 0;
  for (const double price : prices) sum += price;
  std::printf("%.12f\n", sum);
  return 0;
}
