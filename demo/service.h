// What the services of the shop have in common: how they are started, traced and stopped.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "http_server.h"
#include "wherefore/tracer.h"

namespace shop {

// One process's part in the shop, as given on its command line.
struct Settings {
  int listen_fd = -1;
  std::string endpoint;                      // where blocks are exported to
  std::map<std::string, std::string> peers;  // service → HOST:PORT
  std::string trouble = "none";
  int storage_workers = 1;
};

wherefore::TracerOptions TracerOptionsFor(const std::string& service, const Settings& settings);

// Of an incident's processes: wherefore's own events, which tell of locks too.
wherefore::TracerOptions IncidentTracer(const std::string& service, const std::string& endpoint);

using TracedHandler = std::function<Response(const Request&, wherefore::Block&)>;

// Wraps a handler in a SERVER block that continues the caller's trace. The block begins when a
// worker takes the request; when it arrived in line is recorded as `wherefore.arrival_ns`.
HttpServer::Handler Traced(wherefore::Tracer& tracer, TracedHandler handler);

// Planted work sleeps, so that the demo's delays never come from a busy processor. Uniform between the bounds.
void WorkFor(double from_ms, double to_ms);
// How long work takes is drawn from this, on threads that have not drawn yet; unless told, from anything.
void SeedWork(uint64_t seed);
// True once in `n` calls on average.
bool OnceIn(int n);

// SIGINT and SIGTERM are taken by WaitForStop: call BlockSignals before any thread starts.
void BlockSignals();
void WaitForStop();
// False when a stop came first.
bool SleepUnlessStopped(double ms);

// Ends the tracer and says on stdout what became of its blocks.
void Finish(const std::string& service, wherefore::Tracer& tracer);

}  // namespace shop
