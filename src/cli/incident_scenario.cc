#include "cli/incident_scenario.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "analysis/provenance/trace_execution.h"
#include "import/events/events_binary_decoder.h"
#include "json/json_reader.h"
#include "json/json_writer.h"
#include "model/trace_builder.h"
#include "net/http_server.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program

namespace wf::cli {
namespace {

// Receives events as `wherefore serve` does, and keeps them in memory: the run lasts seconds.
class EventReceiver {
 public:
  EventReceiver() : io_(1), server_(io_) {}
  ~EventReceiver() { server_.Stop(0); }

  Result<std::string> Listen() {
    WF_ASSIGN(const net::ListenAddress address, net::ParseListenAddress("127.0.0.1:0"));
    WF_ASSIGN(
        const net::ListenAddress bound,
        server_.Listen(address, {}, [this](net::HttpRequest request, net::HttpResponder answer) {
          Receive(request.body, std::move(answer));
        }));
    return "http://" + net::ToString(bound);
  }

  // When all senders are gone.
  EventBatch Take() {
    const std::lock_guard lock(mutex_);
    return std::move(events_);
  }
  int64_t refused() const { return refused_; }

 private:
  void Receive(std::string_view body, net::HttpResponder answer) {
    const std::lock_guard lock(mutex_);
    decode::DecodeReport report;
    const Status status = events::DecodeEventsBinary(body, {}, events_, report);
    refused_ += status.ok() ? 0 : 1;
    answer({status.ok() ? 200 : 400, {{"Content-Type", "application/json"}}, "{}"});
  }

  std::mutex mutex_;
  EventBatch events_;
  std::atomic<int64_t> refused_{0};
  net::IoThreads io_;
  net::HttpServer server_;
};

Result<std::string> FindDemo() {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  const std::filesystem::path place = self.parent_path();
  // In a build folder, and where the package puts it.
  for (const char* beside : {"wherefore-demo", "../lib/wherefore/wherefore-demo"}) {
    const std::filesystem::path demo = place / beside;
    if (!self.empty() && std::filesystem::exists(demo, code))
      return demo.lexically_normal().string();
  }
  return EnvironmentError(
      fmt::format("{}: not found; this scenario runs the demo system's programs",
                  (place / "wherefore-demo").string()),
      "install the whole package, run make build, or put wherefore-demo beside wherefore");
}

// What it writes to stdout.
Result<std::string> RunDemo(std::vector<std::string> arguments) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    return EnvironmentError(std::string("pipe: ") + std::strerror(errno),
                            "free some file descriptors");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  std::string output;
  char buffer[4096];
  for (ssize_t n; failed == 0 && ((n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0 ||
                                  (n < 0 && errno == EINTR));) {
    if (n > 0) output.append(buffer, static_cast<size_t>(n));
  }
  ::close(pipe_ends[0]);
  if (failed != 0)
    return EnvironmentError(arguments[0] + ": " + std::strerror(failed), "is it executable?");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return EnvironmentError(fmt::format("{} {}: failed", arguments[0], arguments[1]),
                            "see its output above; the machine may be short of memory or ports");
  }
  return output;
}

struct Customer {
  TraceId trace;
  uint64_t span = 0;
  Nanos latency = 0;
};

// By latency; the middle one is what happened to most. Some extreme one would be the machine's doing as often as not.
const Customer& Median(std::vector<Customer>& customers) {
  std::sort(customers.begin(), customers.end(),
            [](const Customer& a, const Customer& b) { return a.latency < b.latency; });
  return customers[customers.size() / 2];
}

struct IncidentRun {
  std::string culprit_node, culprit_tuple;
  std::vector<Customer> before, during;
};

Result<IncidentRun> ReadRun(const std::string& output) {
  JsonParser parser;
  const auto json = parser.Parse(output);
  IncidentRun run;
  if (json.ok()) {
    run.culprit_node = json->Get("culprit").Get("node").String();
    run.culprit_tuple = json->Get("culprit").Get("tuple").String();
    for (const JsonValue request : json->Get("requests").Elements()) {
      Customer customer;
      WF_ASSIGN(customer.trace, ParseTraceId(request.Get("trace_id").String()));
      WF_ASSIGN(const SpanId span, ParseSpanId(request.Get("span_id").String()));
      customer.span = span.value;
      customer.latency = request.Get("latency_ns").IntOrText().value_or(0);
      const std::string_view phase = request.Get("phase").String();
      if (phase == "before") run.before.push_back(customer);
      if (phase == "during") run.during.push_back(customer);
    }
  }
  if (run.before.empty() || run.during.empty()) {
    return EnvironmentError("wherefore-demo: unexpected output",
                            "do wherefore and wherefore-demo have the same version?");
  }
  return run;
}

Status WriteFile(const std::string& path, const std::string& text) {
  const std::string part = path + ".part";
  std::ofstream file(part, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  file.close();
  std::error_code code;
  if (file) std::filesystem::rename(part, path, code);
  if (file && !code) return {};
  return EnvironmentError(path + ": cannot be written",
                          "is the folder writable, and is there room?");
}

std::string QueryJson(const scenario::ScenarioOptions& options, const IncidentRun& run,
                      const Customer& asked, Nanos normal, const std::string& from,
                      const std::string& to) {
  JsonWriter json;
  json.BeginObject().Field("scenario", options.name);
  json.Field("question", "Why did this request take so long?");
  json.Field("seed", options.seed).Field("from", from).Field("to", to);
  json.Field("trace_id", ToHex(asked.trace));
  json.Field("latency_ns", asked.latency).Field("normal_ns", normal);
  json.Field("fault", options.fault == scenario::Fault::kOn);
  json.Key("culprit");
  if (options.fault == scenario::Fault::kOn) {
    json.BeginObject()
        .Field("node", run.culprit_node)
        .Field("tuple", run.culprit_tuple)
        .EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
  return json.Take() + "\n";
}

}  // namespace

const std::vector<scenario::ScenarioDescription>& IncidentScenarios() {
  static const std::vector<scenario::ScenarioDescription> all = {
      {"Z1", "runs: a maintenance task floods storage, requests queue behind its scans"},
      {"Z2", "runs: fetches move to a remote site, clients retry and fill the line"},
      {"Z3", "runs: compactions hold the lock that scheduling a query needs"},
      {"Z4", "runs: one tenant's load jobs exceed what ingestion can take in"},
  };
  return all;
}

bool IsIncidentScenario(const std::string& name) {
  const auto& all = IncidentScenarios();
  return std::any_of(all.begin(), all.end(), [&](const scenario::ScenarioDescription& known) {
    return known.name == name;
  });
}

Result<scenario::ScenarioFiles> RunIncidentScenario(const scenario::ScenarioOptions& options,
                                                    const std::string& folder) {
  WF_ASSIGN(const std::string demo, FindDemo());
  EventReceiver receiver;
  WF_ASSIGN(const std::string endpoint, receiver.Listen());
  WF_ASSIGN(
      const std::string output,
      RunDemo({demo, "incident", options.name, "--endpoint", endpoint, "--culprit",
               options.fault == scenario::Fault::kOn ? "on" : "off", "--seed",
               std::to_string(options.seed), "--size", std::to_string(options.size.value_or(0))}));
  WF_ASSIGN(IncidentRun run, ReadRun(output));
  if (receiver.refused() != 0) {
    return EnvironmentError("wherefore-demo: it sent unexpected events",
                            "do wherefore and wherefore-demo have the same version?");
  }

  // All on one host, so no clock is off.
  const EventBatch events = receiver.Take();
  std::map<TraceId, std::vector<uint32_t>> rows;
  for (uint32_t row = 0; row < events.size(); ++row) rows[events.trace_id(row)].push_back(row);
  std::vector<Trace> traces;
  for (auto& [id, of_trace] : rows) traces.push_back(BuildTrace(events, std::move(of_trace)));
  std::vector<const Trace*> borrowed;
  for (const Trace& trace : traces) borrowed.push_back(&trace);

  const Nanos normal = Median(run.before).latency;
  const Customer& asked = Median(run.during);
  provenance::TraceExecutionOptions what;
  what.places = {
      {asked.trace, asked.span, provenance::SpanSide::kStart, provenance::PlaceUse::kFrom},
      {asked.trace, asked.span, provenance::SpanSide::kEnd, provenance::PlaceUse::kTo}};
  const provenance::TraceExecution execution = provenance::MakeTraceExecution(borrowed, what);
  for (const uint32_t place : execution.places) {
    if (place >= execution.events.size()) {
      return EnvironmentError(
          fmt::format("scenario {}: the request of trace {} did not arrive here", options.name,
                      ToHex(asked.trace)),
          "a busy machine may lose it; run it again");
    }
  }

  std::string lines;
  for (const ResourceServers& servers : execution.servers) AppendProvenanceLine(servers, lines);
  for (const ProvenanceEvent& event : execution.events) AppendProvenanceLine(event, lines);
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  scenario::ScenarioFiles files;
  files.events = folder + "/events.jsonl";
  files.query = folder + "/query.json";
  files.traces = static_cast<int64_t>(traces.size());
  files.event_lines = static_cast<int64_t>(execution.events.size());
  WF_TRY(WriteFile(files.events, lines));
  WF_TRY(WriteFile(files.query,
                   QueryJson(options, run, asked, normal, execution.events[execution.places[0]].id,
                             execution.events[execution.places[1]].id)));
  return files;
}

}  // namespace wf::cli
