// What tests/system/cluster/shared_rates.py runs: a program that wants to start traces, and starts those that the policies of
// its server allow.
//
//   sampling_target ENDPOINT PER_SECOND      prints, ten times a second, how many it has started so far
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "wherefore/tracer.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  wherefore::TracerOptions options;
  options.endpoint = argv[1];
  options.service_name = "sampled";
  options.owner_rate = {10'000, 10'000};  // the policy's rate is what is tested
  wherefore::Tracer tracer(options);
  const std::chrono::duration<double> pause(1 / std::atof(argv[2]));
  auto next = std::chrono::steady_clock::now(), print = next;
  for (;;) {
    { const wherefore::Block block(tracer, "request"); }
    next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
    std::this_thread::sleep_until(next);
    if (std::chrono::steady_clock::now() < print) continue;
    print = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    const wherefore::TracerStats stats = tracer.stats();
    std::printf("%llu %llu\n", static_cast<unsigned long long>(stats.policies),
                static_cast<unsigned long long>(stats.traces_started));
    if (std::fflush(stdout) != 0) return 0;
  }
}
