#include "service.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <optional>
#include <random>
#include <thread>

namespace shop {

using wherefore::Block;
using wherefore::BlockKind;
using wherefore::BlockOptions;
using wherefore::RequestContext;

namespace {

std::optional<uint64_t> work_seed;  // set before threads start
std::atomic<uint64_t> seeded_threads{0};

std::mt19937_64& Random() {
  static thread_local std::mt19937_64 generator(
      work_seed ? *work_seed * 1'000'003 + seeded_threads.fetch_add(1) : std::random_device{}());
  return generator;
}

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

wherefore::TracerOptions TracerOptionsFor(const std::string& service, const Settings& settings) {
  wherefore::TracerOptions options;
  options.service_name = service;
  // The shop speaks as any OpenTelemetry service does.
  options.exports = wherefore::TracerOptions::Export::kOtlp;
  options.endpoint = settings.endpoint;
  options.process_labels = {{"service.namespace", "demo-shop"},
                            {"deployment.environment.name", "demo"}};
  return options;
}

wherefore::TracerOptions IncidentTracer(const std::string& service, const std::string& endpoint) {
  wherefore::TracerOptions options;
  options.service_name = service;
  options.endpoint = endpoint;
  options.control = wherefore::TracerOptions::Control::kOff;  // everything is recorded
  options.process_labels = {{"service.namespace", "demo-incident"}};
  return options;
}

HttpServer::Handler Traced(wherefore::Tracer& tracer, TracedHandler handler) {
  return [&tracer, handler = std::move(handler)](const Request& request) {
    BlockOptions options;
    options.kind = BlockKind::kServer;
    options.parent = RequestContext::FromHeaders(request.message.Header("traceparent"),
                                                 request.message.Header("tracestate"))
                         .value_or(RequestContext());
    Block block(tracer, request.method + " " + request.path, options);
    block.Label("http.request.method", request.method);
    block.Label("url.path", request.path);
    if (!request.query.empty()) block.Label("url.query", request.query);
    block.Label("wherefore.arrival_ns", request.arrival_ns);
    Response response = handler(request, block);
    block.Label("http.response.status_code", response.status);
    if (response.status >= 500) block.Fail("answered " + std::to_string(response.status));
    return response;
  };
}

void WorkFor(double from_ms, double to_ms) {
  std::uniform_real_distribution<double> range(from_ms, to_ms);
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(range(Random())));
}

void SeedWork(uint64_t seed) { work_seed = seed; }

bool OnceIn(int n) { return std::uniform_int_distribution<int>(1, n)(Random()) == 1; }

void BlockSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void WaitForStop() {
  const sigset_t signals = StopSignals();
  int signal;
  sigwait(&signals, &signal);
}

bool SleepUnlessStopped(double ms) {
  const sigset_t signals = StopSignals();
  const auto nanos = static_cast<int64_t>(ms * 1e6);
  const timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
  return sigtimedwait(&signals, nullptr, &timeout) < 0;
}

void Finish(const std::string& service, wherefore::Tracer& tracer) {
  tracer.Shutdown(std::chrono::milliseconds(3000));
  const wherefore::TracerStats stats = tracer.stats();
  const uint64_t missing = stats.recorded - stats.exported;
  std::string line = "  " + service + std::string(14 - std::min<size_t>(13, service.size()), ' ') +
                     std::to_string(stats.exported) + " blocks exported";
  if (missing != 0) {
    line += ", " + std::to_string(missing) + " not (" + std::to_string(stats.dropped) +
            " dropped, " + std::to_string(stats.rejected) + " rejected, " +
            std::to_string(stats.lost) + " lost)";
    if (!tracer.LastError().empty()) line += ": " + tracer.LastError();
  }
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace shop
