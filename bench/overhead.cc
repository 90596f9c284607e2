// bench_overhead: what tracing adds to a service's requests (Canopy §5.1, table 1). Two demo services in this process:
// A answers short requests and is instrumented in detail, as ServiceA of the paper; B answers long ones and has the
// default instrumentation only, as ServiceB. Each request does fixed work (sorting, hashing) on one thread. Traced and
// untraced requests alternate, so that what else the machine does falls on both alike; the increase of a percentile is
// that of the traced requests' distribution over the untraced ones'. A real server receives the events.
//
//   bench_overhead [--endpoint http://HOST:PORT] [--requests N]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client/runtime/tick_clock.h"
#include "wherefore/instrument.h"
#include "wherefore/tracer.h"

namespace {

using namespace wherefore;

// Work that cannot be left out: mixes `rounds` × 64 words.
uint64_t Work(uint64_t seed, int rounds) {
  uint64_t words[64];
  for (uint64_t& word : words) word = seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  for (int i = 0; i < rounds; ++i) {
    for (uint64_t& word : words) word = (word ^ word >> 29) * 0x9E3779B97F4A7C15ull + words[i & 63];
  }
  return words[seed & 63];
}

volatile uint64_t sink;

// Short, in detail: about 0.25 ms and 160 events, the paper's number for backend services.
void ServeShort(Tracer& tracer) {
  static std::mutex cache;
  Block request(tracer, "GET /item", BlockKind::kServer);
  request.Label("route", "/item");
  for (int i = 0; i < 12; ++i) {
    Block step(tracer, "step");
    step.Label("n", i);
    {
      const TracedLock lock(cache, "cache");
      sink = Work(static_cast<uint64_t>(i), 90);
    }
    count("rows", i);
    inform("looked up");
    Block query(tracer, "query");
    sink = Work(static_cast<uint64_t>(i), 90);
    point("row");
  }
}

// Long, the default: about 10 ms and a handful of events.
void ServeLong(Tracer& tracer) {
  Block request(tracer, "GET /report", BlockKind::kServer);
  request.Label("route", "/report");
  for (int i = 0; i < 4; ++i) {
    Block step(tracer, "step");
    sink = Work(static_cast<uint64_t>(i), 24'000);
  }
}

struct Sample {
  double wall_ns, cpu_ns;
};

double Rank(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<int64_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void Row(const char* service, const char* what, const std::vector<double>& with,
         const std::vector<double>& without, const char* paper) {
  const auto increase = [](double a, double b) { return 100 * (a / b - 1); };
  std::printf("  %-10s %-5s %7.2f%%", service, what, increase(Mean(with), Mean(without)));
  for (const double share : {0.01, 0.25, 0.5, 0.75, 0.99}) {
    std::printf(" %7.2f%%", increase(Rank(with, share), Rank(without, share)));
  }
  std::printf("   %s\n", paper);
}

template <typename Serve>
void Compare(const char* service, Tracer& tracer, Tracer& off, int requests, const char* paper,
             Serve serve) {
  std::vector<double> wall[2], cpu[2];
  for (int i = 0; i < requests + 20; ++i) {
    // The order within a pair alternates too: the second of two requests finds warmer caches.
    for (const int traced : {i % 2, 1 - i % 2}) {
      const int64_t cpu_begin = client::ClockNs(CLOCK_THREAD_CPUTIME_ID);
      const int64_t begin = client::ClockNs(CLOCK_MONOTONIC);
      serve(traced ? tracer : off);
      const int64_t end = client::ClockNs(CLOCK_MONOTONIC);
      const int64_t cpu_end = client::ClockNs(CLOCK_THREAD_CPUTIME_ID);
      if (i < 20) continue;  // warming up
      wall[traced].push_back(static_cast<double>(end - begin));
      cpu[traced].push_back(static_cast<double>(cpu_end - cpu_begin));
    }
  }
  std::printf("  %s: untraced requests take %.3f ms (mean)\n", service, Mean(wall[0]) / 1e6);
  Row(service, "CPU", cpu[1], cpu[0], paper);
  Row(service, "wall", wall[1], wall[0], "");
}

}  // namespace

int main(int argc, char** argv) {
  std::string endpoint = "http://127.0.0.1:8642";
  int requests = 2000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--endpoint") == 0) endpoint = argv[i + 1];
    if (std::strcmp(argv[i], "--requests") == 0) requests = std::atoi(argv[i + 1]);
  }
  setenv("WHEREFORE_DISABLED", "1", 1);
  Tracer off{TracerOptions()};
  unsetenv("WHEREFORE_DISABLED");
  TracerOptions options;
  options.endpoint = endpoint;
  options.service_name = "overhead";
  options.control = TracerOptions::Control::kOff;
  Tracer tracer(options);
  std::printf("  %-10s %-5s %8s %8s %8s %8s %8s %8s   %s\n", "service", "", "mean", "p1", "p25",
              "p50", "p75", "p99", "mean in the paper (CPU)");
  Compare("A, short", tracer, off, requests, "8.15% (ServiceA)", ServeShort);
  Compare("B, long", tracer, off, requests / 10, "0.76% (ServiceB)", ServeLong);
  tracer.Flush(std::chrono::seconds(20));
  const TracerStats stats = tracer.stats();
  std::printf("  events: %llu recorded, %llu arrived, %llu dropped\n",
              static_cast<unsigned long long>(stats.recorded),
              static_cast<unsigned long long>(stats.exported),
              static_cast<unsigned long long>(stats.dropped));
  return 0;
}
