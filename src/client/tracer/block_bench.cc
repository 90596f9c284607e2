// What a block costs the thread that records it. The queue is small and nobody receives: the export thread is idle in
// its back-off, so that its work is not mixed in, and most blocks take the path of a full queue after being encoded.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdlib>

#include "wherefore/tracer.h"

namespace wherefore {
namespace {

TracerOptions Unreceived() {
  TracerOptions options;
  options.exports = TracerOptions::Export::kOtlp;
  options.endpoint = "http://127.0.0.1:1";
  options.service_name = "bench";
  options.first_backoff = options.max_backoff = std::chrono::hours(1);
  options.shutdown_deadline = std::chrono::milliseconds(10);
  return options;
}

void RecordedBlock(benchmark::State& state) {
  Tracer tracer(Unreceived());
  for (auto _ : state) {
    Block block(tracer, "GET /search", BlockKind::kServer);
    block.Label("http.request.method", "GET");
    block.Label("http.response.status_code", 200);
  }
}
BENCHMARK(RecordedBlock);

void UnsampledBlock(benchmark::State& state) {
  Tracer tracer(Unreceived());
  const ContextScope scope(
      *RequestContext::FromHeaders("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"));
  for (auto _ : state) {
    Block block(tracer, "GET /search", BlockKind::kServer);
    block.Label("http.request.method", "GET");
    block.Label("http.response.status_code", 200);
  }
}
BENCHMARK(UnsampledBlock);

void DisabledBlock(benchmark::State& state) {
  setenv("WHEREFORE_DISABLED", "1", 1);
  Tracer tracer(Unreceived());
  unsetenv("WHEREFORE_DISABLED");
  for (auto _ : state) {
    Block block(tracer, "GET /search", BlockKind::kServer);
    block.Label("http.request.method", "GET");
    block.Label("http.response.status_code", 200);
  }
}
BENCHMARK(DisabledBlock);

}  // namespace
}  // namespace wherefore
