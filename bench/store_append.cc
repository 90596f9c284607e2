// store_append [--spans N] [--dir D] [--sync on|off] [--lookups N] [--searches N] [--bare on|off] [--reuse on|off]
//
// What the store costs, without any network: the seeded load, already decoded, into an embedded store; then look-ups.
// Prints CPU per span and stage, spans per second, bytes per span, peak memory, and the ratio to a bare DuckDB
// insert of 19 plain columns fed with the same batches in the same run.
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "load.h"
#include "store/directory.h"
#include "store/duckdb/bare_insert.h"
#include "store/duckdb/duckdb_store.h"

namespace {

using namespace wf;

double ProcessCpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double ThreadCpu() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double PeakMegabytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}
double Seconds() { return static_cast<double>(MonotonicNow()) * 1e-9; }

[[noreturn]] void Die(const Error& error) {
  fmt::print(stderr, "store_append: {} ({})\n", error.message, error.hint);
  std::exit(3);
}

double Percentile(std::vector<double> v, double p) {
  std::sort(v.begin(), v.end());
  return v.empty()
             ? 0
             : v[std::min(v.size() - 1, static_cast<size_t>(p * static_cast<double>(v.size())))];
}

// At most `limit` batches under way.
class Window {
 public:
  explicit Window(int limit) : free_(limit) {}
  void Enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_ > 0; });
    --free_;
  }
  void Leave() {
    std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_one();
  }
  void Drain(int limit) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return free_ == limit; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

}  // namespace

int main(int argc, char** argv) {
  uint64_t spans = 1'000'000;
  size_t lookups = 1000, searches = 100;
  std::string directory =
      (std::filesystem::temp_directory_path() / "wherefore-store-append").string();
  store::duckdb::DuckdbStoreOptions options;
  bool bare = true, reuse = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--spans") spans = std::stoull(value);
    if (flag == "--dir") directory = value;
    if (flag == "--sync")
      options.sync = value == "off" ? store::SyncMode::kNoSync : store::SyncMode::kSync;
    if (flag == "--lookups") lookups = std::stoull(value);
    if (flag == "--searches") searches = std::stoull(value);
    if (flag == "--bare") bare = value != "off";
    if (flag == "--reuse")
      reuse = value == "on";  // only look up, in a store that an earlier run left
    if (flag == "--memory") options.memory_limit = value;
  }
  if (reuse) {
    bare = false;
  } else {
    std::filesystem::remove_all(directory);
  }

  double bare_cpu = 0;
  if (bare) {
    // The same batches, kept decoded beforehand so that only the insert is timed.
    LoadOptions load_options;
    load_options.spans = std::min<uint64_t>(spans, 491'520);
    Load load(load_options);
    store::BatchList batches;
    for (EventBatch batch; load.Next(batch);)
      batches.push_back(std::make_shared<const EventBatch>(std::move(batch)));
    std::filesystem::create_directories(directory);
    const double before = ProcessCpu();
    const Status status = store::duckdb::BareInsert(directory + "/bare.duckdb", batches);
    if (!status.ok()) Die(status.error());
    bare_cpu = (ProcessCpu() - before) / static_cast<double>(load_options.spans) * 1e6;
    fmt::print("bare DuckDB, 19 columns: {:.2f} µs/span, {:.1f} B/span\n", bare_cpu,
               static_cast<double>(std::filesystem::file_size(directory + "/bare.duckdb")) /
                   static_cast<double>(load_options.spans));
    std::filesystem::remove_all(directory);
  }

  auto opened = store::duckdb::OpenDuckdbStore(directory, options);
  if (!opened.ok()) Die(opened.error());
  std::unique_ptr<store::Store> store = std::move(*opened);

  LoadOptions load_options;
  load_options.spans = spans;
  Load load(load_options);
  constexpr int kUnderWay = 8;
  Window window(kUnderWay);
  std::mutex latency_mutex;
  std::vector<double> latencies;
  uint64_t retries = 0;
  double making = 0;
  const double cpu_before = ProcessCpu(), wall_before = Seconds();
  while (!reuse) {
    const double made_before = ThreadCpu();
    EventBatch batch;
    const bool more = load.Next(batch);
    making += ThreadCpu() - made_before;
    if (!more) break;
    window.Enter();
    const double sent = Seconds();
    store->Append(std::move(batch), [&, sent](Status status) {
      if (!status.ok()) {
        if (status.error().code != ErrorCode::kOverloaded) Die(status.error());
        ++retries;  // the load is larger than the store takes: counted as lost, and reported
      }
      {
        std::lock_guard lock(latency_mutex);
        latencies.push_back(Seconds() - sent);
      }
      window.Leave();
    });
  }
  window.Drain(kUnderWay);
  const double wall = Seconds() - wall_before;
  const Status flushed = store->Flush();
  if (!flushed.ok()) Die(flushed.error());
  const double cpu = ProcessCpu() - cpu_before - making;
  const auto status = store->ReadStatus("default");
  if (!status.ok()) Die(status.error());
  const double per_span = 1e6 / static_cast<double>(spans);
  fmt::print(
      "append: {:.2f} µs CPU/span ({:.2f} making the load not counted), {:.0f} spans/s, ack p50 "
      "{:.1f} ms p99 {:.1f} ms max "
      "{:.0f} ms, refused {}\n",
      cpu * per_span, making * per_span, static_cast<double>(spans) / wall,
      Percentile(latencies, 0.5) * 1e3, Percentile(latencies, 0.99) * 1e3,
      Percentile(latencies, 1) * 1e3, retries);
  for (const auto& [name, value] : status->counters) {
    if (name.rfind("cpu_ns_", 0) == 0) {
      fmt::print("  {:<12} {:.3f} µs/span\n", name.substr(7),
                 static_cast<double>(value) / 1e3 / static_cast<double>(spans));
    }
  }
  fmt::print("stored: {} spans, {} traces, {:.1f} B/span on disk, peak memory {:.0f} MB\n",
             status->spans, status->traces,
             static_cast<double>(status->disk_bytes) / static_cast<double>(spans), PeakMegabytes());
  if (bare)
    fmt::print("ratio to bare DuckDB: {:.2f} (at least 0.5 wanted)\n", bare_cpu / (cpu * per_span));

  const auto measure = [&](const char* what, size_t count, auto&& one) {
    std::vector<double> times, cpu_times;  // CPU too: on a busy machine only that means anything
    size_t hits = 0;
    for (size_t i = 0; i < count; ++i) {
      const double before = Seconds(), cpu_before_one = ProcessCpu();
      hits += one(i);
      times.push_back((Seconds() - before) * 1e3);
      cpu_times.push_back((ProcessCpu() - cpu_before_one) * 1e3);
    }
    if (count != 0) {
      fmt::print(
          "{}: p50 {:.1f} ms p99 {:.1f} ms max {:.1f} ms (CPU p50 {:.1f} p99 {:.1f}), {} answers "
          "with {} hits\n",
          what, Percentile(times, 0.5), Percentile(times, 0.99), Percentile(times, 1),
          Percentile(cpu_times, 0.5), Percentile(cpu_times, 0.99), count, hits);
    }
  };
  uint64_t random = 42;
  const auto next = [&] { return random = MixBits(random + 0x9E3779B97F4A7C15ull); };
  const auto by_id = [&](size_t) {
    auto trace = store->ReadTrace(
        "default",
        Load::TraceIdAt(load_options.seed, next() % static_cast<uint64_t>(status->traces)));
    if (!trace.ok()) Die(trace.error());
    return trace->size();
  };
  const auto by_user = [&](size_t) {
    store::TraceQuery query;
    query.attributes = {{"user.id", Load::UserId(next() % Load::kUsers)}};
    auto page = store->Search("default", query);
    if (!page.ok()) Die(page.error());
    return page->traces.size();
  };
  measure("by id, first 100", std::min<size_t>(lookups, 100), by_id);
  measure("by id", lookups, by_id);
  measure("by user, first 5", std::min<size_t>(searches, 5), by_user);
  measure("by user", searches, by_user);
  measure("newest 20 of a service", std::min<size_t>(searches, 20), [&](size_t) {
    store::TraceQuery query;
    query.service = "payment";
    auto page = store->Search("default", query);
    if (!page.ok()) Die(page.error());
    return page->traces.size();
  });
  fmt::print("peak memory {:.0f} MB\n", PeakMegabytes());
  return 0;
}
