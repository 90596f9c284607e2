// bench/explain: how long it takes to explain a delay, reading the events included, against the size of the raw graph.
// The load is the paper's own trouble: one service's requests queue at a backend behind a job that nobody asked about.
// The figure: time grows with the vertices, and 1,000,000 take at most 2 s.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <string>

#include "analysis/provenance/execution.h"
#include "analysis/provenance/explanation.h"
#include "answer/explain/explain_json.h"
#include "base/hash.h"

namespace wf {
namespace {

struct Options {
  uint64_t most = 1'000'000;
  int repeat = 3;
  uint64_t seed = 1;
};

constexpr double kLimitSeconds = 2;

// A request of a client is a chain of five events: INS, DRV and SND at its service, RCV and DRV at the backend. The
// backend has one worker; requests of eight services come faster than it works, so the last one waits for all.
struct Load {
  std::string text, from, to;
};

Load MakeLoad(uint64_t vertices, uint64_t seed) {
  Load load;
  const uint64_t requests = vertices / 5;
  std::vector<ProvenanceEvent> events;
  events.reserve(requests * 5);
  Nanos busy_until = 0;
  for (uint64_t r = 0; r < requests; ++r) {
    uint64_t state = MixBits(seed * 1'000'003 + r);
    const auto random = [&state](uint64_t below) {
      state = MixBits(state + 0x9E3779B97F4A7C15ull);
      return static_cast<Nanos>(state % below);
    };
    const std::string service = fmt::format("service-{}", random(8)), key = std::to_string(r);
    const auto add = [&](const char* kind, ProvenanceType type, const std::string& node,
                         const std::string& tuple, Nanos start, Nanos end,
                         std::vector<std::string> causes, const std::string& resource) {
      ProvenanceEvent& e = events.emplace_back();
      e.id = kind + key;
      e.type = type;
      e.node = node;
      e.tuple = fmt::format("{}(@{},{})", tuple, node, r);
      e.start_ns = start;
      e.end_ns = end;
      e.causes = std::move(causes);
      e.origin = service;
      e.holds.emplace();
      if (!resource.empty()) e.holds->push_back({resource, {}});
    };
    // Arrivals are twice as fast as the worker.
    const Nanos arrival = static_cast<Nanos>(r) * 500 + random(400);
    add("i", ProvenanceType::kInsert, service, "request", arrival, arrival, {}, "");
    add("d", ProvenanceType::kDerive, service, "call", arrival, arrival + 100, {"i" + key}, "");
    add("s", ProvenanceType::kSend, service, "+call", arrival + 100, arrival + 150, {"d" + key},
        "");
    add("r", ProvenanceType::kReceive, "backend", "+call", arrival + 200, arrival + 250,
        {"s" + key}, "");
    const Nanos start = std::max(busy_until, arrival + 250);
    busy_until = start + 800 + random(400);
    add("w", ProvenanceType::kDerive, "backend", "answer", start, busy_until, {"r" + key},
        "worker");
  }
  std::sort(events.begin(), events.end(), [](const ProvenanceEvent& a, const ProvenanceEvent& b) {
    return a.end_ns < b.end_ns;  // as they would be written: when they end
  });
  for (const ProvenanceEvent& e : events) AppendProvenanceLine(e, load.text);
  load.from = "i" + std::to_string(requests - 1);
  load.to = "w" + std::to_string(requests - 1);
  return load;
}

struct Times {
  Nanos read = 0, explain = 0, write = 0, total = INT64_MAX, cpu = 0;
  provenance::ExplanationSizes sizes;
};

Nanos CpuNow() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

Status Measure(const Load& load, int repeat, Times& best) {
  for (int i = 0; i < repeat; ++i) {
    const Nanos begin = MonotonicNow(), cpu = CpuNow();
    WF_ASSIGN(const provenance::Execution execution, provenance::ReadExecution(load.text, "load"));
    const Nanos read = MonotonicNow();
    provenance::ExplainOptions options;
    options.from = execution.Find(load.from);
    options.to = execution.Find(load.to);
    WF_ASSIGN(const provenance::Explanation explanation, provenance::Explain(execution, options));
    const Nanos explained = MonotonicNow();
    const std::string json = answer::ExplanationJson(execution, explanation, options.view);
    const Nanos written = MonotonicNow();
    if (written - begin >= best.total) continue;
    best.read = read - begin;
    best.explain = explained - read;
    best.write = written - explained;
    best.total = written - begin;
    best.cpu = CpuNow() - cpu;
    best.sizes = explanation.sizes;
  }
  return {};
}

Status Run(const Options& options) {
  fmt::print("{:>10}{:>10}{:>10}{:>12}{:>10}{:>11}{:>11}{:>11}{:>9}{:>13}\n", "events", "raw",
             "shown", "nonzero", "MB", "read ms", "explain ms", "total ms", "CPU ms",
             "ns a vertex");
  double first = 0, last = 0, seconds = 0;
  for (uint64_t vertices = 1'000; vertices <= options.most; vertices *= 10) {
    const Load load = MakeLoad(vertices, options.seed);
    Times best;
    WF_TRY(Measure(load, options.repeat, best));
    last = static_cast<double>(best.cpu) / static_cast<double>(best.sizes.raw);
    if (vertices == 10'000) first = last;  // below, what is paid once shows
    seconds = static_cast<double>(best.total) / 1e9;
    fmt::print("{:>10}{:>10}{:>10}{:>12}{:>10.1f}{:>11.1f}{:>11.1f}{:>11.1f}{:>9.1f}{:>13.0f}\n",
               vertices, best.sizes.raw, best.sizes.aggregated, best.sizes.nonzero,
               static_cast<double>(load.text.size()) / 1e6, static_cast<double>(best.read) / 1e6,
               static_cast<double>(best.explain) / 1e6, static_cast<double>(best.total) / 1e6,
               static_cast<double>(best.cpu) / 1e6, last);
  }
  if (first > 0) fmt::print("\nCPU time a vertex, largest to 10,000: {:.2f}\n", last / first);
  if (options.most >= 1'000'000) {
    fmt::print("largest: {:.2f} s of {:.0f} s: {}\n", seconds, kLimitSeconds,
               seconds <= kLimitSeconds ? "within" : "MISSED");
  }
  return {};
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) {
  wf::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--most") {
      options.most = std::stoull(value);
    } else if (flag == "--repeat") {
      options.repeat = std::stoi(value);
    } else if (flag == "--seed") {
      options.seed = std::stoull(value);
    } else {
      fmt::print(stderr, "bench_explain [--most VERTICES] [--repeat N] [--seed N]\n");
      return 2;
    }
  }
  const wf::Status status = wf::Run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_explain: {}\n", status.error().message);
  return 3;
}
