// bench/lookup: how long a person waits. A server on a store that bench/ingest left (--keep), one client, warm: 1,000
// random trace ids, then searches for a user id over everything stored.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <vector>

#include "json/json_reader.h"
#include "load.h"
#include "net/http_client.h"
#include "server_process.h"

namespace wf {
namespace {

struct Options {
  std::string binary;
  std::string directory = "build/bench-store";
  uint64_t seed = 1;
  int lookups = 1000;
  int searches = 100;
};

double Percentile(const std::vector<double>& sorted, double p) {
  return sorted[std::min(sorted.size() - 1,
                         static_cast<size_t>(p * static_cast<double>(sorted.size())))];
}

Result<double> Milliseconds(net::HttpClient& client, const std::string& target, int expected,
                            std::string* body) {
  const Nanos before = MonotonicNow();
  WF_ASSIGN(auto answer, client.Get(target));
  const double ms = static_cast<double>(MonotonicNow() - before) / 1e6;
  if (answer.status != expected)
    return EnvironmentError(fmt::format("{}: HTTP {}: {}", target, answer.status, answer.body));
  if (body != nullptr) *body = std::move(answer.body);
  return ms;
}

void Print(const char* what, std::vector<double>& ms) {
  std::sort(ms.begin(), ms.end());
  fmt::print("{:<26}{:>8} asked{:>10.2f} ms p50{:>10.2f} ms p99{:>10.2f} ms max\n", what, ms.size(),
             Percentile(ms, 0.5), Percentile(ms, 0.99), ms.back());
}

Status Run(const Options& options) {
  WF_ASSIGN(ServerProcess server, ServerProcess::Start(options.binary, options.directory, {}));
  WF_ASSIGN(const net::Url url, net::ParseUrl("http://" + server.address("http")));
  net::HttpClient client(url);
  std::string body;
  WF_TRY(Milliseconds(client, "/api/v1/status", 200, &body));
  JsonParser parser;
  WF_ASSIGN(const JsonValue status, parser.Parse(body));
  const auto spans = status.Get("store").Get("spans").Int().value_or(0);
  const auto traces = static_cast<uint64_t>(status.Get("store").Get("traces").Int().value_or(0));
  if (traces == 0)
    return BadInput(options.directory + ": holds no traces",
                    "bench_ingest --keep makes such a store");
  fmt::print("{} spans in {} traces; one client, over HTTP\n", spans, traces);

  std::mt19937_64 random(options.seed + 7);
  const auto id_at = [&](uint64_t n) {
    return "/api/v1/trace/" + ToHex(Load::TraceIdAt(options.seed, n % traces));
  };
  for (int i = 0; i < 100; ++i) {
    WF_TRY(Milliseconds(client, id_at(random()), 200, nullptr));
  }
  std::vector<double> by_id;
  for (int i = 0; i < options.lookups; ++i) {
    WF_ASSIGN(const double ms, Milliseconds(client, id_at(random()), 200, nullptr));
    by_id.push_back(ms);
  }
  Print("trace by id", by_id);
  // The newest 20, as the page and the command line ask by default; then every trace of that user.
  for (const auto& [name, limit] :
       {std::pair("search by user id, 20", 20), std::pair("search by user id, all", 1000)}) {
    std::vector<double> by_user;
    size_t found = 0;
    for (int i = -10; i < options.searches; ++i) {
      const std::string target = fmt::format("/api/v1/traces?limit={}&attr=user.id%3D{}", limit,
                                             Load::UserId(random() % Load::kUsers));
      WF_ASSIGN(const double ms, Milliseconds(client, target, 200, &body));
      WF_ASSIGN(const JsonValue page, parser.Parse(body));
      found += page.Get("traces").size();
      if (i >= 0) by_user.push_back(ms);  // the first ten warm up
    }
    Print(name, by_user);
    if (found == 0)
      return EnvironmentError("no search found anything: the load and this bench disagree");
    fmt::print("{:<26}{:>8.1f} found a search\n", "",
               static_cast<double>(found) / (options.searches + 10));
  }
  fmt::print("server peak memory {:.0f} MB\n", static_cast<double>(server.PeakMemory()) / 1e6);
  return {};
}

int Main(int argc, char** argv) {
  Options options;
  options.binary = std::filesystem::path(argv[0]).parent_path() / "wherefore";
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (flag == "--store") {
      options.directory = value();
    } else if (flag == "--seed") {
      options.seed = std::stoull(value());
    } else if (flag == "--lookups") {
      options.lookups = std::stoi(value());
    } else if (flag == "--searches") {
      options.searches = std::stoi(value());
    } else {
      fmt::print(stderr,
                 "usage: bench_lookup [--store DIR] [--seed N] [--lookups N] [--searches N]\n");
      return 2;
    }
  }
  const Status status = Run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "bench_lookup: {}\n", status.error().message);
  return 3;
}

}  // namespace
}  // namespace wf

int main(int argc, char** argv) { return wf::Main(argc, argv); }
