#include "server/serve.h"

#include <unistd.h>

#include "answer/clock_answer.h"
#include "answer/policy_answer.h"
#include "log/log.h"
#include "pipeline/dataset_catalog.h"
#include "server/compile_live.h"
#include "server/event_pages.h"
#include "server/hash_key.h"
#include "server/query_dataset.h"
#include "server/receivers.h"
#include "server/server_file.h"
#include "server/tracepoint_registry.h"
#include "store/duckdb/duckdb_store.h"

namespace wf {
namespace {

// Two cores are the smallest machine we are made for; more io threads than that only contend for the log's lock.
constexpr int kIoThreads = 2;
// Questions at once, and waiting: a page asks for a handful, an impatient person reloads it.
constexpr size_t kWorkers = 4;
constexpr size_t kWorkerQueue = 256;
constexpr Nanos kHousekeepingPeriod = 2 * kSecond;
// Offsets move slowly, and reading the exchanges of what is still in memory costs up to 0.2 s under full load.
constexpr Nanos kClockPeriod = 15 * kSecond;

// Rows of datasets age by days.
constexpr Nanos kDatasetPeriod = 10 * kMinute;

struct ListenerSpec {
  const char* name;
  std::string ServeOptions::*address;
};
constexpr ListenerSpec kListeners[] = {
    {"http", &ServeOptions::http},           {"otlp_grpc", &ServeOptions::otlp_grpc},
    {"otlp_http", &ServeOptions::otlp_http}, {"zipkin", &ServeOptions::zipkin},
    {"jaeger", &ServeOptions::jaeger},
};

// The flag's name for messages: otlp_grpc → --otlp-grpc.
std::string FlagOf(std::string name) {
  for (char& c : name) c = c == '_' ? '-' : c;
  return "--" + name;
}

}  // namespace

Status CheckServeOptions(const ServeOptions& options) {
  for (const ListenerSpec& spec : kListeners) {
    auto address = net::ParseListenAddress(options.*spec.address);
    if (!address.ok()) {
      return Error{ErrorCode::kBadInput, FlagOf(spec.name) + ": " + address.error().message,
                   address.error().hint};
    }
  }
  if (const auto address = net::ParseListenAddress(options.int_reports); !address.ok()) {
    return Error{ErrorCode::kBadInput, "--int: " + address.error().message, address.error().hint};
  }
  if (options.max_request_bytes > options.max_inflight_bytes) {
    return BadInput("--max-request-bytes is larger than --max-inflight-bytes",
                    "a request of that size could never be taken: raise the latter");
  }
  for (const std::string& origin : options.events_origins) WF_TRY(CheckEventsOrigin(origin));
  if (options.store.find("://") != std::string::npos) {
    return BadInput("--store: serve needs a directory, not " + options.store,
                    "give the directory that holds the data");
  }
  return {};
}

Result<std::unique_ptr<Server>> Server::Start(const ServeOptions& options) {
  WF_TRY(CheckServeOptions(options));
  std::unique_ptr<Server> server(new Server);
  server->options_ = options;
  server->started_ns_ = Now();
  WF_ASSIGN(server->token_, RandomToken());
  server->authorizer_ =
      std::make_unique<Authorizer>(server->token_, options.allowed_hosts, options.events_origins);
  DuckdbStoreOptions store_options;
  store_options.sync = options.sync ? SyncMode::kSync : SyncMode::kNoSync;
  WF_ASSIGN(server->store_, OpenDuckdbStore(options.store, store_options));
  RemoveServerFile(options.store);  // of a server that was killed: we hold the store now
  WF_TRY(server->StartTailer());
  WF_TRY(server->StartControl());
  server->workers_ = std::make_unique<WorkerPool>(kWorkers, kWorkerQueue);
  server->io_ = std::make_unique<net::IoThreads>(kIoThreads);
  server->http_ = std::make_unique<net::HttpServer>(*server->io_);
  server->grpc_ = std::make_unique<net::GrpcServer>(*server->io_);
  WF_TRY(server->Listen());
  WF_TRY(WriteServerFile(options.store, {::getpid(), server->token_, server->listeners_}));
  server->StartAgent();
  server->housekeeper_ = std::thread([raw = server.get()] { raw->Housekeeping(); });
  return server;
}

// Sees what becomes durable from the first request on.
Status Server::StartTailer() {
  datasets_ = std::make_unique<StoreDatasets>(*store_, options_.store + "/parquet");
  if (!options_.tailer) return {};
  WF_ASSIGN(tailer_, Tailer::Start({*store_, *datasets_, *datasets_, options_.store + "/tailer"},
                                   options_.tailer_options));
  store_->Listen([this](const std::shared_ptr<const EventBatch>& batch) { tailer_->Take(batch); });
  return {};
}

// What processes are told: policies, queries and tracepoints; and what they tell of queries.
Status Server::StartControl() {
  processes_ = std::make_unique<ProcessRegistry>(*store_);
  live_ = std::make_unique<LiveQueries>(
      LiveQueriesContext{*store_, *processes_, counters_, CompileLive,
                         [this](const std::string& tenant) { return control_->Refresh(tenant); }});
  control_ = std::make_unique<ControlHub>(
      [this](const std::string& tenant) -> Result<std::string> {
        WF_ASSIGN(const std::string policies,
                  ReadPolicies(AnswerContext{*store_, tenant, options_.store, Now(), {}, {}}));
        WF_ASSIGN(const std::string tracepoints, ReadTracepointsJson(*store_, tenant));
        return "\"policies\":" + policies + ",\"queries\":" + live_->ControlJson(tenant) +
               ",\"tracepoints\":" + tracepoints;
      },
      [this](const ControlHub::Asker& asker) {
        if (asker.leaving) return processes_->Left(asker.tenant, asker.instance);
        processes_->Asked(
            asker.tenant, {asker.instance, asker.service, "", 0}, asker.generation,
            asker.drained ? ProcessRegistry::Rest::kReported : ProcessRegistry::Rest::kMayCome,
            asker.wait);
      },
      token_, counters_);
  return live_->Load("default");
}

Status Server::Listen() {
  const auto budget =
      std::make_shared<net::ByteBudget>(static_cast<size_t>(options_.max_inflight_bytes));
  net::HttpListenOptions http_options;
  http_options.max_body_bytes = http_options.max_wire_body_bytes =
      static_cast<size_t>(options_.max_request_bytes);
  http_options.budget = budget;
  net::GrpcListenOptions grpc_options;
  grpc_options.max_message_bytes = static_cast<size_t>(options_.max_request_bytes);
  grpc_options.budget = budget;

  ReceiverContext receivers{*store_, *authorizer_, counters_, {}, tailer_.get()};
  receivers.decode.rules = options_.attribute_rules;
  WF_ASSIGN(receivers.decode.hash_key, LoadHashKey(options_.store));
  const RouteContext routes{*store_,
                            options_.store,
                            *authorizer_,
                            counters_,
                            *workers_,
                            [this] { return Facts(); },
                            [this] { return !stopping_; },
                            receivers.decode,
                            *control_,
                            {live_.get(), processes_.get()},
                            tailer_.get(),
                            &datasets_->red()};

  std::vector<std::pair<std::string, std::string>> bound_addresses;
  for (const ListenerSpec& spec : kListeners) {
    const std::string name = spec.name;
    WF_ASSIGN(const net::ListenAddress wanted, net::ParseListenAddress(options_.*spec.address));
    const auto listen = [&]() -> Result<net::ListenAddress> {
      if (name == "http") {
        return http_->Listen(wanted, http_options,
                             ReadableByEventPages(*authorizer_, MakeWebHandler(routes)));
      }
      if (name == "otlp_grpc")
        return grpc_->Listen(wanted, grpc_options, OtlpGrpcMethods(receivers));
      if (name == "otlp_http")
        return http_->Listen(wanted, http_options, OtlpHttpHandler(receivers));
      if (name == "zipkin") return http_->Listen(wanted, http_options, ZipkinHandler(receivers));
      return http_->Listen(wanted, http_options, JaegerHandler(receivers));
    };
    auto bound = listen();
    if (!bound.ok()) {
      return EnvironmentError(
          FlagOf(name) + " " + net::ToString(wanted) + ": " + bound.error().message,
          "another program may hold the port: choose one with " + FlagOf(name) +
              " PORT (0 picks a free one), or off");
    }
    bound_addresses.emplace_back(name, net::ToString(*bound));
  }
  WF_ASSIGN(const net::ListenAddress int_address, net::ParseListenAddress(options_.int_reports));
  if (!int_address.off) {
    auto receiver = IntReceiver::Start(
        {int_address, options_.store + "/int", options_.int_keep_bytes, options_.retention_age_ns},
        counters_);
    if (!receiver.ok())
      return EnvironmentError("--int " + receiver.error().message, receiver.error().hint);
    int_ = std::move(*receiver);
    bound_addresses.emplace_back("int", net::ToString(int_->address()));
  }
  // The first listener answers already while the last is bound: hand the list over at once.
  const std::lock_guard lock(mutex_);
  listeners_ = std::move(bound_addresses);
  return {};
}

// Without the privileges it is off: processes with compiled-in tracepoints are asked all the same.
void Server::StartAgent() {
  if (!options_.agent) return;
  if (const Status may = CheckWeavePrivileges(); !may.ok()) {
    log::Info("no agent for this host: {}", may.error().message);
    return;
  }
  const std::string instance = AgentInstance();
  agent_ = std::make_unique<Agent>(MakeLocalAgentLink(*control_, *live_, instance),
                                   AgentOptions{instance, HostName(), WeaveHost({})});
}

ServerFacts Server::Facts() const {
  ServerFacts facts;
  facts.started_ns = started_ns_;
  {
    const std::lock_guard lock(mutex_);
    facts.listeners = listeners_;
  }
  facts.counters = counters_.Snapshot();
  facts.retention_age_ns = options_.retention_age_ns;
  facts.retention_bytes = options_.retention_bytes;
  if (tailer_ != nullptr) {
    facts.tailer = tailer_->ReadStatus();
    facts.counters.merge(TailerCounters(facts.tailer));
  }
  facts.counters.merge(live_->Gauges());
  const auto& h = http_->counters();
  facts.counters["http_connections"] = static_cast<int64_t>(h.connections);
  facts.counters["http_connections_refused"] = static_cast<int64_t>(h.connections_refused);
  facts.counters["http_requests"] = static_cast<int64_t>(h.requests);
  facts.counters["http_malformed"] = static_cast<int64_t>(h.malformed);
  facts.counters["http_too_large"] = static_cast<int64_t>(h.too_large);
  facts.counters["http_overloaded"] = static_cast<int64_t>(h.overloaded);
  facts.counters["http_timeouts"] = static_cast<int64_t>(h.timeouts);
  const auto& g = grpc_->counters();
  facts.counters["grpc_connections"] = static_cast<int64_t>(g.connections);
  facts.counters["grpc_connections_refused"] = static_cast<int64_t>(g.connections_refused);
  facts.counters["grpc_requests"] = static_cast<int64_t>(g.requests);
  facts.counters["grpc_malformed"] = static_cast<int64_t>(g.malformed);
  facts.counters["grpc_unimplemented"] = static_cast<int64_t>(g.unimplemented);
  facts.counters["grpc_too_large"] = static_cast<int64_t>(g.too_large);
  facts.counters["grpc_overloaded"] = static_cast<int64_t>(g.overloaded);
  facts.counters["grpc_timeouts"] = static_cast<int64_t>(g.timeouts);
  return facts;
}

// Retention and clock offsets, every few seconds. Errors are logged and counted; the next round tries again.
void Server::Housekeeping() {
  const auto note = [this](const char* what, const Status& status) {
    if (status.ok()) return;
    counters_.Add(std::string(what) + "_failed", 1);
    log::Error("{}: {}", what, status.error().message);
  };
  Nanos clocks_refreshed = Now(), datasets_retained = Now();
  std::unique_lock lock(mutex_);
  do {  // retention first of all: it also tells the store how finely to cut what comes in
    lock.unlock();
    if (options_.retention_age_ns || options_.retention_bytes) {
      note("retention", store_->Retain({options_.retention_age_ns, options_.retention_bytes}));
    }
    note("dataset_files", datasets_->WriteFiles("default", StoreDatasets::When::kDue));
    if (const Nanos now = Now(); now - clocks_refreshed >= kClockPeriod) {
      clocks_refreshed = now;
      note("clock_refresh", RefreshClocks(*store_, "default", {now - 2 * kClockWindow, now}));
    }
    if (const Nanos now = Now(); now - datasets_retained >= kDatasetPeriod) {
      datasets_retained = now;
      note("dataset_retention", RetainDatasets(*store_, "default"));
      note("dataset_retention", RetainQueryDatasets(*store_, "default", options_.retention_age_ns));
    }
    lock.lock();
  } while (!wake_.wait_for(lock, std::chrono::nanoseconds(kHousekeepingPeriod),
                           [&] { return stopping_.load(); }));
}

void Server::Stop(Nanos patience) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopping_ = stopped_ = true;
  }
  wake_.notify_all();
  if (agent_ != nullptr) agent_->Stop();  // it reports what it still has
  live_->Stop();                          // who listens is told the last and that it is the last
  control_->Stop();                       // who waits for news is told that there are none
  if (housekeeper_.joinable()) housekeeper_.join();
  if (int_ != nullptr) int_->Stop();
  const size_t cut_http = http_->Stop(patience);
  const size_t cut = cut_http + grpc_->Stop(cut_http == 0 ? patience : 0);
  if (cut != 0) log::Warn("{} connections were cut", cut);
  io_->Stop();  // handlers that are still queued there may use the workers
  workers_.reset();
  store_->Listen({});
  tailer_.reset();
  if (const Status flushed = store_->Flush(); !flushed.ok())
    log::Error("flush: {}", flushed.error().message);
  RemoveServerFile(options_.store);
}

Server::~Server() {
  if (io_ != nullptr && http_ != nullptr && grpc_ != nullptr) Stop(0);
}

}  // namespace wf
