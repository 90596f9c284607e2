// Prices of options by the formula, several rounds over the same table: arithmetic, threads that never meet but at the
// barrier between rounds.
#include <cmath>

#include "program.h"

using namespace recorded;

namespace {

struct Option {
  double price, strike, rate, volatility, years;
};

double Normal(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

double Call(const Option& o) {
  const double spread = o.volatility * std::sqrt(o.years);
  const double d1 =
      (std::log(o.price / o.strike) + (o.rate + 0.5 * o.volatility * o.volatility) * o.years) /
      spread;
  return o.price * Normal(d1) - o.strike * std::exp(-o.rate * o.years) * Normal(d1 - spread);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRounds = 60;
  const Arguments arguments = Parse(argc, argv);
  Random random(4);
  std::vector<Option> options(static_cast<size_t>(160'000 * arguments.scale));
  for (Option& o : options) {
    o = {20 + 80 * random.Uniform(), 20 + 80 * random.Uniform(), 0.01 + 0.1 * random.Uniform(),
         0.1 + 0.5 * random.Uniform(), 0.1 + random.Uniform()};
  }
  std::vector<double> prices(options.size());
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(arguments.threads));
  auto work = [&](int index) {
    const Slice slice = SliceOf(options.size(), index, arguments.threads);
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = slice.begin; i < slice.end; ++i) prices[i] = Call(options[i]);
      pthread_barrier_wait(&barrier);
    }
  };
  RunThreads(arguments.threads, work);
  pthread_barrier_destroy(&barrier);
  double sum = 0;
  for (const double price : prices) sum += price;
  std::printf("%zu options, mean %.9f\n", options.size(),
              sum / static_cast<double>(options.size()));
  return 0;
}
