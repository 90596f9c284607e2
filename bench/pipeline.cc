// bench/pipeline: from receipt to rows (Canopy §4.3). For traces of 160, 4,500 and 7,500 events: OTLP requests are read
// from a file, decoded, made durable, cached, modeled, and 10 datasets of 10 features each are extracted and written;
// traces/s and events/s end to end, CPU by stage, lag by stage. The process is pinned to --cores cores.
//
// The loop is closed: at most --window events are on their way, so nothing is shed, and the rate is what the whole can
// sustain. Preparing the file is not measured.
#include "pipeline/pipeline.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "import/otlp/otlp_decoder.h"
#include "import/otlp/otlp_encoder.h"
#include "pipeline/store_datasets.h"
#include "store/duckdb/duckdb_store.h"
#include "tailer_load.h"

namespace wf {
namespace {

struct Options {
  std::string directory = "build/bench-pipeline";
  std::vector<size_t> sizes = {160, 4500, 7500};
  uint64_t events = 2'000'000;  // of each size
  uint64_t window = 400'000;
  int cores = 1;
};

constexpr size_t kEventsPerRequest = 512;
constexpr int kDatasets = 10;

// Ten features of the kinds that people write: counts, filters, ancestors, the critical path.
std::string DatasetYaml(int n) {
  std::string features = fmt::format(
      "  Trace | Duration | RecordAs(\"duration_{0}\")\n"
      "  Blocks | Count | RecordAs(\"blocks_{0}\")\n"
      "  Blocks | Filter(status = \"error\") | Count | RecordAs(\"errors_{0}\")\n"
      "  Blocks | Filter(duration > {1}us) | Count | RecordAs(\"long_{0}\")\n"
      "  Blocks | Filter(kind = \"server\") | Duration | Sum | RecordAs(\"served_{0}\")\n"
      "  Blocks | Filter(name = \"query\") | Duration | Percentile(90) | RecordAs(\"query_{0}\")\n"
      "  Blocks | Filter(route = \"/page\") | Count | RecordAs(\"pages_{0}\")\n"
      "  CriticalPath | Segments | Filter(category = \"self\") | Duration | Sum | "
      "RecordAs(\"self_{0}\")\n"
      "  CriticalPath | Segments | Count | RecordAs(\"steps_{0}\")\n"
      "  Blocks | Last | Ancestors | Count | RecordAs(\"depth_{0}\")\n",
      n, 100 * (n + 1));
  return fmt::format("dataset: bench_{}\nowner: bench\nrow: Trace\ncolumns: |\n{}", n, features);
}

Status Prepare(const std::string& path, size_t size, uint64_t traces) {
  std::ofstream out(path, std::ios::binary);
  const Nanos start = Now() + kMinute;  // later than the tailer's start: the cache is trusted
  const auto write = [&](const EventBatch& batch) {
    std::vector<uint32_t> rows(batch.size());
    for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    std::string body;
    otlp::EncodeOtlpProtobuf(batch, rows, body);
    const auto length = static_cast<uint32_t>(body.size());
    out.write(reinterpret_cast<const char*>(&length), 4);
    out.write(body.data(), static_cast<std::streamsize>(body.size()));
  };
  EventBatch batch;
  for (uint64_t t = 0; t < traces; ++t) {
    AddTailedTrace({t, size, start + static_cast<Nanos>(t) * kMilli, "web"}, batch);
    if (batch.size() < kEventsPerRequest) continue;
    write(batch);
    batch = {};
  }
  if (!batch.empty()) write(batch);
  out.close();
  return out ? Status() : EnvironmentError(path + ": cannot be written");
}

double ProcessCpu() {
  rusage u;
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

Status Measure(const Options& options, size_t size) {
  const uint64_t traces = std::max<uint64_t>(20, options.events / size);
  std::filesystem::remove_all(options.directory);
  std::filesystem::create_directories(options.directory);
  const std::string file = options.directory + "/input.otlp";
  WF_TRY(Prepare(file, size, traces));

  WF_ASSIGN(const auto store, store::duckdb::OpenDuckdbStore(options.directory + "/store", {}));
  for (const auto& [name, text] : pipeline::StandingDatasets())  // ours alone
    WF_TRY(store->PutDocument("default", pipeline::kDatasetKind, name, ""));
  for (int n = 0; n < kDatasets; ++n)
    WF_TRY(store->PutDocument("default", pipeline::kDatasetKind, fmt::format("bench_{}", n),
                              DatasetYaml(n)));
  pipeline::StoreDatasets datasets(*store, options.directory + "/parquet");
  if (datasets.Deployed("default")->size() != kDatasets)
    return EnvironmentError("not every dataset of the benchmark compiles");
  pipeline::TailerOptions tailer_options;
  tailer_options.extractors = options.cores;
  tailer_options.cache.bytes = size_t{1} << 30;
  WF_ASSIGN(pipeline::Trigger trigger, pipeline::ParseTrigger("bench 100ms after last"));
  tailer_options.cache.triggers = {trigger};
  WF_ASSIGN(const auto tailer,
            pipeline::Tailer::Start({*store, datasets, datasets, options.directory + "/tailer"},
                                    tailer_options));
  store->Listen([&](const std::shared_ptr<const EventBatch>& batch) { tailer->Take(batch); });

  const double cpu_before = ProcessCpu();
  const Nanos began = MonotonicNow();
  std::ifstream in(file, std::ios::binary);
  std::string body;
  uint64_t sent = 0;
  Nanos receive_cpu = 0;
  const auto done = [&] {
    return static_cast<uint64_t>(tailer->ReadStatus().rows) / kDatasets * size;
  };
  for (uint32_t length; in.read(reinterpret_cast<char*>(&length), 4);) {
    body.resize(length);
    in.read(body.data(), length);
    while (sent > done() + options.window)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const Nanos before = pipeline::ThreadCpuNow();
    EventBatch batch;
    batch.received_ns = Now();
    decode::DecodeReport report;
    WF_TRY(otlp::DecodeOtlpProtobuf(body, {}, batch, report));
    const uint64_t rows = batch.size();
    sent += rows;
    receive_cpu += pipeline::ThreadCpuNow() - before;
    for (;;) {  // "come again later" is 5 ms here
      std::atomic<int> answer{0};
      EventBatch copy = batch;
      store->Append(std::move(copy), [&](const Status& status) {
        answer = status.ok() ? 1 : status.error().code == ErrorCode::kOverloaded ? 2 : 3;
        answer.notify_one();
      });
      answer.wait(0);
      if (answer == 1) break;
      if (answer == 3) return EnvironmentError("append failed");
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  const Nanos give_up = MonotonicNow() + 5 * kMinute;
  while (static_cast<uint64_t>(tailer->ReadStatus().rows) < traces * kDatasets) {
    if (MonotonicNow() > give_up) return EnvironmentError("rows are missing after five minutes");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const double seconds = static_cast<double>(MonotonicNow() - began) / 1e9;
  const double cpu = ProcessCpu() - cpu_before;
  const pipeline::TailerStatus status = tailer->ReadStatus();
  store->Listen({});
  tailer->Stop();

  const auto events = static_cast<double>(traces * size);
  fmt::print(
      "{:>6} events a trace: {:>9.1f} traces/s {:>9.0f} events/s ({:.0f} per core), CPU {:.2f} s\n",
      size, static_cast<double>(traces) / seconds, events / seconds,
      events / seconds / options.cores, cpu);
  fmt::print("       {:<9}{:>10}{:>14}{:>12}{:>12}\n", "stage", "CPU", "us/event", "lag p50",
             "lag p99");
  const auto line = [&](const std::string& name, Nanos stage_cpu, Nanos p50, Nanos p99) {
    fmt::print("       {:<9}{:>9.1f}%{:>14.2f}{:>12}{:>12}\n", name,
               100 * static_cast<double>(stage_cpu) / 1e9 / cpu,
               static_cast<double>(stage_cpu) / 1e3 / events, FormatDuration(p50),
               FormatDuration(p99));
  };
  line("decode", receive_cpu, 0, 0);
  for (const pipeline::StageStatus& stage : status.stages)
    line(stage.name, stage.cpu_ns, stage.lag_p50_ns, stage.lag_p99_ns);
  fmt::print("       from the cache {:.2f}%, delayed {}\n\n", 100 * status.cache_share(),
             status.traces_delayed_done);
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : "0"; };
    if (flag == "--cores") {
      options.cores = std::max(1, std::stoi(value()));
    } else if (flag == "--events") {
      options.events = std::stoull(value());
    } else if (flag == "--window") {
      options.window = std::stoull(value());
    } else if (flag == "--size") {
      options.sizes = {std::stoul(value())};
    } else if (flag == "--store") {
      options.directory = value();
    } else {
      fmt::print(stderr,
                 "usage: bench_pipeline [--cores N] [--events N] [--window N] [--size EVENTS] "
                 "[--store DIR]\n");
      return 2;
    }
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int c = 0; c < options.cores; ++c) CPU_SET(static_cast<size_t>(c), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    fmt::print(stderr, "bench_pipeline: cannot pin to {} cores: {}\n", options.cores,
               std::strerror(errno));
    return 3;
  }
  fmt::print("{} core{}, {} datasets of 10 features each, receipt to rows, sync on\n\n",
             options.cores, options.cores == 1 ? "" : "s", kDatasets);
  for (const size_t size : options.sizes) {
    if (const Status status = Measure(options, size); !status.ok()) {
      fmt::print(stderr, "bench_pipeline: {}\n", status.error().message);
      return 3;
    }
  }
  std::filesystem::remove_all(options.directory);
  return 0;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) { return wf::Main(argc, argv); }
