// bench/ingest: what it costs to receive spans durably. Sends the seeded load (load.h) over OTLP, gRPC and HTTP, on 4
// connections from this machine's same cores, and prints, per protocol: server CPU per span, spans/s acknowledged,
// bytes per span on disk, peak memory, acknowledgement latency; and the ratio to a bare DuckDB insert of 19 plain columns,
// fed with the same decoded columns in the same run.
//
// Requests are encoded before the clock starts: the sender must not be what is measured. Server CPU is read from the
// kernel before the first request and after the store has written everything into parts, so the cost of settling is
// in it.
//
// Each protocol is measured with the tailer off, and with it on and the standing datasets deployed: then the tailer
// yields, and what it cannot do in time goes to the delayed queue, which the last lines count.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "import/otlp/otlp_encoder.h"
#include "json/json_reader.h"
#include "load.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "server_process.h"
#include "store/duckdb/bare_insert.h"

namespace wf {
namespace {

struct Options {
  std::string binary;
  std::string directory = "build/bench-store";
  uint64_t spans = 2'000'000;
  uint64_t seed = 1;
  int connections = 4;
  std::string protocols = "grpc,http";
  std::string sync = "on";
  std::string tailer = "both";
  bool keep = false;
};

struct Figures {
  std::string protocol;
  double cpu_us_per_span = 0, spans_per_second = 0, bytes_per_span = 0, wire_bytes_per_span = 0;
  double ack_p50_ms = 0, ack_p99_ms = 0, ack_max_ms = 0;
  int64_t peak_memory = 0;
  uint64_t retries = 0;
  std::string tailer;      // on, off
  std::string tailer_did;  // what became of the traces, when on
};

struct Requests {
  std::vector<std::string> bodies;
  std::vector<uint64_t> spans;
  uint64_t total_spans = 0, total_bytes = 0;
};

Requests Encode(const Options& options) {
  Requests out;
  LoadOptions load_options;
  load_options.seed = options.seed;
  load_options.spans = options.spans;
  // Traces of now, and later than the server's start: of older ones the tailer does not trust its cache.
  load_options.first_start_ns = Now() + 5 * kMinute;
  Load load(load_options);
  for (EventBatch batch; load.Next(batch); batch = {}) {
    std::string body;
    otlp::EncodeOtlpProtobuf(batch, otlp::AllRows(batch), body);
    out.total_spans += batch.size();
    out.total_bytes += body.size();
    out.spans.push_back(batch.size());
    out.bodies.push_back(std::move(body));
  }
  return out;
}

// One connection: sends request after request, each when the one before is acknowledged; "try again later" means 50 ms here.
using SendOne = std::function<Result<bool>(const std::string& body)>;  // false: overloaded

Result<SendOne> Connect(const std::string& protocol, ServerProcess& server) {
  const std::string listener = protocol == "grpc" ? "otlp_grpc" : "otlp_http";
  WF_ASSIGN(const net::Url url, net::ParseUrl("http://" + server.address(listener)));
  if (protocol == "grpc") {
    auto connected = net::GrpcClient::Connect(url.host, url.port);
    if (!connected.ok()) return connected.error();
    const auto client = std::make_shared<net::GrpcClient>(std::move(connected).value());
    return SendOne([client](const std::string& body) -> Result<bool> {
      WF_ASSIGN(const auto answer,
                client->Call("/opentelemetry.proto.collector.trace.v1.TraceService/Export", body));
      if (answer.code == net::kGrpcOk) return true;
      if (answer.retry_delay) return false;
      return EnvironmentError(fmt::format("gRPC status {}: {}", answer.code, answer.message));
    });
  }
  const auto client = std::make_shared<net::HttpClient>(url);
  return SendOne([client](const std::string& body) -> Result<bool> {
    WF_ASSIGN(const auto answer, client->Post("/v1/traces", "application/x-protobuf", body));
    if (answer.status == 200) return true;
    if (answer.status == 429 || answer.status == 503) return false;
    return EnvironmentError(fmt::format("HTTP {}: {}", answer.status, answer.body));
  });
}

double Percentile(std::vector<double>& sorted, double p) {
  return sorted.empty()
             ? 0
             : sorted[std::min(sorted.size() - 1,
                               static_cast<size_t>(p * static_cast<double>(sorted.size())))];
}

Result<Figures> Run(const Options& options, const std::string& protocol, const std::string& tailer,
                    const Requests& requests) {
  std::filesystem::remove_all(options.directory);
  std::filesystem::create_directories(options.directory);
  WF_ASSIGN(ServerProcess server,
            ServerProcess::Start(options.binary, options.directory,
                                 {"--sync", options.sync, "--tailer", tailer}));

  Figures figures;
  figures.protocol = protocol;
  figures.tailer = tailer;
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> retries{0};
  std::vector<std::vector<double>> latencies(static_cast<size_t>(options.connections));
  std::vector<Status> failures(static_cast<size_t>(options.connections));
  const Nanos cpu_before = server.CpuTime();
  const Nanos started = MonotonicNow();
  std::vector<std::thread> senders;
  for (int c = 0; c < options.connections; ++c) {
    senders.emplace_back([&, c] {
      auto send = Connect(protocol, server);
      if (!send.ok()) {
        failures[static_cast<size_t>(c)] = send.error();
        return;
      }
      for (size_t i = next++; i < requests.bodies.size(); i = next++) {
        const Nanos sent = MonotonicNow();
        for (;;) {
          auto answer = (*send)(requests.bodies[i]);
          if (!answer.ok()) {
            failures[static_cast<size_t>(c)] = answer.error();
            return;
          }
          if (*answer) break;
          ++retries;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        latencies[static_cast<size_t>(c)].push_back(static_cast<double>(MonotonicNow() - sent) /
                                                    1e6);
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  const double seconds = static_cast<double>(MonotonicNow() - started) / 1e9;
  for (const Status& failure : failures) WF_TRY(failure);

  // Settle: everything into parts, then read what it cost.
  WF_ASSIGN(const net::Url url, net::ParseUrl("http://" + server.address("http")));
  net::HttpClientOptions patient;
  patient.timeout = 10 * kMinute;
  net::HttpClient admin(url, patient);
  WF_ASSIGN(const auto flushed,
            admin.Send("POST", "/api/v1/flush", {{"Authorization", "Bearer " + server.token()}}));
  if (flushed.status != 200) return EnvironmentError("flush: " + flushed.body);
  const auto spans = static_cast<double>(requests.total_spans);
  figures.cpu_us_per_span = static_cast<double>(server.CpuTime() - cpu_before) / 1e3 / spans;
  figures.spans_per_second = spans / seconds;
  figures.bytes_per_span = static_cast<double>(DirectoryBytes(options.directory)) / spans;
  figures.wire_bytes_per_span = static_cast<double>(requests.total_bytes) / spans;
  figures.peak_memory = server.PeakMemory();
  figures.retries = retries;
  std::vector<double> all;
  for (const auto& some : latencies) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  figures.ack_p50_ms = Percentile(all, 0.50);
  figures.ack_p99_ms = Percentile(all, 0.99);
  figures.ack_max_ms = all.empty() ? 0 : all.back();

  WF_ASSIGN(const auto status, admin.Get("/api/v1/status"));
  JsonParser parser;
  WF_ASSIGN(const JsonValue json, parser.Parse(status.body));
  const int64_t stored = json.Get("store").Get("spans").Int().value_or(-1);
  if (stored != static_cast<int64_t>(requests.total_spans)) {
    return EnvironmentError(
        fmt::format("{} spans acknowledged, {} found", requests.total_spans, stored));
  }
  if (tailer == "on") {
    const JsonValue t = json.Get("tailer");
    const auto number = [](const JsonValue& value) { return value.Int().value_or(-1); };
    figures.tailer_did = fmt::format(
        "{} traces due, {} from the cache, {} delayed ({} gone from it, {} queue full), {} still "
        "cached; {} rows",
        number(t.Get("traces_due")), number(t.Get("traces_from_cache")),
        number(t.Get("delayed_queue").Get("traces")) + number(t.Get("traces_delayed_done")),
        number(t.Get("delayed").Get("events_gone")), number(t.Get("delayed").Get("queue_full")),
        number(t.Get("cache").Get("traces")), number(t.Get("rows").Get("written")));
  }
  return figures;
}

struct BareFigures {
  double spans_per_second = 0, cpu_us_per_span = 0, bytes_per_span = 0;
};

// The named limit: what DuckDB alone takes for the decoded columns. At most 2 M spans: they are all held in memory.
Result<BareFigures> MeasureBareInsert(const Options& options) {
  LoadOptions load_options;
  load_options.seed = options.seed;
  load_options.spans = std::min<uint64_t>(options.spans, 2'000'000);
  Load load(load_options);
  store::BatchList batches;
  for (EventBatch batch; load.Next(batch); batch = {}) {
    batches.push_back(std::make_shared<const EventBatch>(std::move(batch)));
  }
  const std::string directory = options.directory + "-bare";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  rusage before, after;
  ::getrusage(RUSAGE_SELF, &before);
  const Nanos started = MonotonicNow();
  WF_TRY(store::duckdb::BareInsert(directory + "/bare.duckdb", batches));
  const double seconds = static_cast<double>(MonotonicNow() - started) / 1e9;
  ::getrusage(RUSAGE_SELF, &after);
  const auto cpu = [](const rusage& u) {
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  const auto spans = static_cast<double>(load_options.spans);
  BareFigures figures{spans / seconds, (cpu(after) - cpu(before)) / spans,
                      static_cast<double>(DirectoryBytes(directory)) / spans};
  std::filesystem::remove_all(directory);
  return figures;
}

void PrintText(const Options& options, const std::vector<Figures>& runs,
               double bare_spans_per_second, double bare_cpu_us, double bare_bytes) {
  fmt::print(
      "{} spans, {} connections, 512 spans a request, {:.0f} B/span on the wire, sync {}\n\n",
      options.spans, options.connections, runs.empty() ? 0 : runs[0].wire_bytes_per_span,
      options.sync);
  fmt::print("{:<22}{:>14}{:>14}{:>12}{:>14}{:>12}{:>12}{:>12}{:>10}{:>8}\n", "", "CPU us/span",
             "spans/s", "disk B/span", "peak memory", "ack p50 ms", "ack p99 ms", "ack max ms",
             "retries", "ratio");
  for (const Figures& f : runs) {
    fmt::print(
        "{:<22}{:>14.2f}{:>14.0f}{:>12.1f}{:>11.0f} MB{:>12.2f}{:>12.2f}{:>12.1f}{:>10}{:>8.2f}\n",
        "OTLP " + f.protocol + ", tailer " + f.tailer, f.cpu_us_per_span, f.spans_per_second,
        f.bytes_per_span, static_cast<double>(f.peak_memory) / 1e6, f.ack_p50_ms, f.ack_p99_ms,
        f.ack_max_ms, f.retries, f.spans_per_second / bare_spans_per_second);
  }
  fmt::print("{:<22}{:>14.2f}{:>14.0f}{:>12.1f}\n", "bare DuckDB", bare_cpu_us,
             bare_spans_per_second, bare_bytes);
  for (const Figures& f : runs)
    if (!f.tailer_did.empty()) fmt::print("\n{}: {}\n", f.protocol, f.tailer_did);
}

int Main(int argc, char** argv) {
  Options options;
  options.binary = std::filesystem::path(argv[0]).parent_path() / "wherefore";
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--spans")
      options.spans = std::stoull(value());
    else if (flag == "--seed")
      options.seed = std::stoull(value());
    else if (flag == "--connections")
      options.connections = std::stoi(value());
    else if (flag == "--protocols")
      options.protocols = value();
    else if (flag == "--sync")
      options.sync = value();
    else if (flag == "--tailer")
      options.tailer = value();
    else if (flag == "--store")
      options.directory = value();
    else if (flag == "--server")
      options.binary = value();
    else if (flag == "--keep")
      options.keep = true;
    else {
      fmt::print(stderr,
                 "usage: bench_ingest [--spans N] [--seed N] [--connections N] [--protocols "
                 "grpc,http] [--sync on|off]\n"
                 "                    [--tailer on|off|both] [--store DIR] [--server BINARY] "
                 "[--keep]\n");
      return 2;
    }
  }
  const Requests requests = Encode(options);
  std::vector<Figures> runs;
  for (const char* protocol : {"grpc", "http"}) {
    if (options.protocols.find(protocol) == std::string::npos) continue;
    for (const char* tailer : {"on", "off"}) {  // off last: what --keep leaves has no rows
      if (options.tailer != "both" && options.tailer != tailer) continue;
      auto figures = Run(options, protocol, tailer, requests);
      if (!figures.ok()) {
        fmt::print(stderr, "bench_ingest: {}\n", figures.error().message);
        return 3;
      }
      runs.push_back(*figures);
    }
  }
  auto bare = MeasureBareInsert(options);
  if (!bare.ok()) {
    fmt::print(stderr, "bench_ingest: bare DuckDB: {}\n", bare.error().message);
    return 3;
  }
  PrintText(options, runs, bare->spans_per_second, bare->cpu_us_per_span, bare->bytes_per_span);
  if (!options.keep) std::filesystem::remove_all(options.directory);
  return 0;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) { return wf::Main(argc, argv); }
