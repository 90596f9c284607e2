#include "server/serve.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "answer/policy_answer.h"
#include "live/compile_live.h"
#include "live/event_pages.h"
#include "live/tracepoint_registry.h"
#include "log/log.h"
#include "security/hash_key.h"
#include "server/receivers.h"
#include "server/server_file.h"
#include "store/open/open_store.h"

namespace wf::server {
namespace {

// Two cores are the smallest machine we are made for; more io threads than that only contend for the log's lock.
constexpr int kIoThreads = 2;
// Questions at once, and waiting: a page asks for a handful, an impatient person reloads it.
constexpr size_t kWorkers = 4;
constexpr size_t kWorkerQueue = 256;
// With less than this left, the next segment or the log may not fit.
constexpr uint64_t kLeastDiskBytes = 8u << 20;
// Of what a tailer has read from the bus and the store has not yet: a quarter of its cache, within reason.
constexpr size_t kLeastUnstored = 8u << 20, kMostUnstored = 64u << 20;
// Between attempts to reach what is away at the start, and between two lines of the log about the same.
constexpr Nanos kFirstWait = 100 * kMilli, kLongestWait = 3 * kSecond, kToldAgain = kMinute;

Status CheckDisk(const std::string& directory) {
  struct statvfs disk;
  if (::statvfs(directory.c_str(), &disk) != 0)
    return EnvironmentError(directory + ": " + std::strerror(errno));
  const uint64_t left = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
  if (left >= kLeastDiskBytes) return {};
  return EnvironmentError(directory + ": " + std::to_string(left >> 10) + " KiB of disk are left",
                          "delete something, or set --retention-bytes");
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(const ServeOptions& options, const Pause& pause) {
  WF_TRY(CheckServeOptions(options));
  std::unique_ptr<Server> server(new Server);
  server->options_ = options;
  server->pause_ = pause;
  server->parts_ = cluster::PartsOf(options.role);
  server->started_ns_ = Now();
  server->readiness_ = std::make_unique<cluster::Readiness>(options.role);
  WF_ASSIGN(server->token_, security::RandomToken());
  WF_ASSIGN(const std::string name, security::RandomToken());
  server->instance_ = live::HostName() + "-" + std::string(cluster::RoleName(options.role)) + "-" +
                      std::to_string(::getpid()) + "-" + name.substr(0, 8);
  const Status started = server->StartParts();
  if (server->gave_up_) return std::unique_ptr<Server>();
  WF_TRY(started);
  return server;
}

Status Server::StartParts() {
  WF_TRY(OpenState());
  store::OpenStoreOptions store_options;
  store_options.sync = options_.sync ? store::SyncMode::kSync : store::SyncMode::kNoSync;
  store_options.password_file = options_.store_password_file;
  store_options.ca_file = options_.store_ca;
  store_options.open_patience = 0;  // Await's is longer
  WF_TRY(Await("store", [&]() -> Status {
    WF_ASSIGN(store_, store::OpenStore(options_.store, store_options));
    return {};
  }));
  RemoveServerFile(state_);  // of a server that was killed: we hold the directory now
  WF_ASSIGN(security_, Security::Load(options_, token_, state_, counters_));
  WF_TRY(StartSink());
  WF_TRY(StartTailer());
  WF_TRY(StartControl());
  StartMembership();
  AddChecks();
  workers_ = std::make_unique<WorkerPool>(kWorkers, kWorkerQueue);
  io_ = std::make_unique<net::IoThreads>(kIoThreads);
  http_ = std::make_unique<net::HttpServer>(*io_);
  grpc_ = std::make_unique<net::GrpcServer>(*io_);
  waiting_.reset();  // its address is ours now
  WF_TRY(Listen());
  WF_TRY(WriteServerFile(
      state_, {::getpid(), token_, listeners_,
               speaks_tls() ? std::filesystem::absolute(options_.tls_cert).string() : ""}));
  security_->Watch(*store_);
  StartAgent();
  if (parts_.tails || !store_->Traits().shared) {
    housekeeping_ = std::make_unique<Housekeeping>(HousekeepingContext{
        *store_, *datasets_, counters_, options_.retention_age_ns, options_.retention_bytes,
        [this] { return membership_->LeadsTailers(); }});
  }
  return {};
}

template <typename Open>
Status Server::Await(const char* what, const Open& open) {
  std::string told;
  Nanos told_at = 0;
  for (Nanos wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    const Status opened = open();
    if (opened.ok()) {
      if (told_at != 0) log::Info("the {} is ready", what);
      return {};
    }
    const Error& error = opened.error();
    // A directory that cannot be opened is not on its way up.
    const bool others = what == std::string_view("bus") ||
                        store::PlaceOf(options_.store) == store::StorePlace::kDatabase;
    if (!others || !WaitingMayMend(error)) return opened;
    if (waiting_ == nullptr) {
      WF_ASSIGN(waiting_, WaitingListener::Open(options_));
    }
    waiting_->Miss(what, error);
    if (told != error.message || MonotonicNow() - told_at >= kToldAgain) {
      log::Warn("not ready: waiting for the {}: {}; {}", what, error.message, error.hint);
      told = error.message;
      told_at = MonotonicNow();
    }
    if (!pause_(wait)) {
      gave_up_ = true;
      return opened;
    }
  }
}

// An embedded store's directory is also where this process keeps what is its own.
Status Server::OpenState() {
  state_ = options_.store;
  if (store::PlaceOf(options_.store) == store::StorePlace::kDirectory) return {};
  state_ = options_.state;
  std::error_code error;
  std::filesystem::create_directories(state_, error);
  if (error)
    return EnvironmentError("--state " + state_ + ": " + error.message(),
                            "give a writable directory");
  auto lock = store::DirectoryLock::Take(state_);
  if (!lock.ok())
    return EnvironmentError("--state " + state_ + ": another process uses it",
                            "give each process on this machine its own --state");
  state_lock_.emplace(std::move(*lock));
  return {};
}

// Where what was received goes; our own traces, too.
Status Server::StartSink() {
  sink_ = SinkInto(*store_);
  // Who only answers needs no bus, though the configuration that he shares may name one.
  if (!options_.bus.empty() && (parts_.receives || parts_.tails || options_.self_trace > 0)) {
    WF_TRY(Await("bus", [&]() -> Status {
      WF_ASSIGN(bus_, OpenBus(options_.bus, options_.bus_config));
      return {};
    }));
    if (parts_.receives || options_.self_trace > 0) {
      WF_ASSIGN(publisher_, bus_->Publisher());
      sink_ = SinkInto(*publisher_);
    }
  }
  SelfTrace::Options options;
  options.probability = options_.self_trace;
  options.host = live::HostName();
  options.instance = instance_;
  options.role = cluster::RoleName(options_.role);
  self_ = std::make_unique<SelfTrace>(options, sink_, counters_);
  return {};
}

// Sees what becomes durable from the first request on.
Status Server::StartTailer() {
  datasets_ = std::make_unique<pipeline::StoreDatasets>(*store_, state_ + "/parquet");
  rows_ = std::make_unique<TracedRowSink>(*datasets_, *self_);
  if (!options_.tailer || options_.role == cluster::Role::kReceive) return {};
  // What is received here is tailed here, unless there is a bus.
  const bool listens = parts_.tails && bus_ == nullptr;
  pipeline::Tailer::Surroundings surroundings{*store_, *datasets_, *rows_, state_ + "/tailer"};
  pipeline::TailerOptions tailer_options = options_.tailer_options;
  if (!listens) {
    // What is imported is modeled here all the same, when asked. Over a shared store nothing of that is remembered: what was
    // received since is the tailers' work.
    tailer_options.threads = pipeline::TailerOptions::Threads::kNone;
    if (!options_.bus.empty() || store_->Traits().shared) {
      surroundings.folder = state_ + "/import";
      std::error_code ignored;
      std::filesystem::remove_all(surroundings.folder, ignored);
    }
  }
  if (listens || parts_.answers) {
    WF_ASSIGN(tailer_, pipeline::Tailer::Start(surroundings, tailer_options));
  }
  if (listens) {
    store_->Listen(
        [this](const std::shared_ptr<const EventBatch>& batch) { tailer_->Take(batch); });
  } else if (parts_.tails) {
    pipeline::BusTailerOptions bus_options;
    bus_options.tailer = options_.tailer_options;
    bus_options.bytes =
        std::clamp(options_.tailer_options.cache.bytes / 4, kLeastUnstored, kMostUnstored);
    WF_ASSIGN(bus_tailer_,
              pipeline::BusTailer::Start({*bus_, *store_, *datasets_, *rows_, state_ + "/tailer"},
                                         bus_options));
  }
  return {};
}

// What processes are told: policies, queries and tracepoints; and what they tell of queries.
Status Server::StartControl() {
  if (!parts_.controls()) return {};
  processes_ = std::make_unique<live::ProcessRegistry>(*store_);
  live_ = std::make_unique<live::LiveQueries>(live::LiveQueriesContext{
      *store_, *processes_, counters_, live::CompileLive,
      [this](const std::string& tenant) { return control_->Refresh(tenant); }});
  control_ = std::make_unique<live::ControlHub>(
      [this](const std::string& tenant) -> Result<std::string> {
        WF_ASSIGN(const std::string policies, answer::ReadPolicies(answer::AnswerContext{
                                                  *store_, tenant, state_, Now(), {}, {}}));
        WF_ASSIGN(const std::string tracepoints, live::ReadTracepointsJson(*store_, tenant));
        return "\"policies\":" + policies + ",\"queries\":" + live_->ControlJson(tenant) +
               ",\"tracepoints\":" + tracepoints + ",\"shares\":" + shares_.SharesJson(tenant);
      },
      [this](const live::ControlHub::Asker& asker) {
        if (asker.leaving) {
          shares_.Left(asker.tenant, asker.instance);
          return processes_->Left(asker.tenant, asker.instance);
        }
        if (!asker.demand.empty())
          shares_.Told(asker.tenant, asker.instance, asker.demand, asker.wait);
        processes_->Asked(asker.tenant, {asker.instance, asker.service, "", 0}, asker.generation,
                          asker.drained ? live::ProcessRegistry::Rest::kReported
                                        : live::ProcessRegistry::Rest::kMayCome,
                          asker.wait);
      },
      token_, counters_);
  WF_ASSIGN(const auto tenants, store_->ReadTenants());
  for (const store::TenantUse& use : tenants) WF_TRY(live_->Load(use.tenant));
  return {};
}

// The other processes over this store; alone, the rates are divided among our own clients all the same.
void Server::StartMembership() {
  cluster::MembershipOptions options;
  options.store = store_->Traits().shared ? store_.get() : nullptr;
  options.instance = instance_;
  options.role = options_.role;
  membership_ = std::make_unique<cluster::Membership>(
      options, counters_,
      [this] {
        shares_.Want(security_->limits().Demands());
        return shares_.OwnJson();
      },
      [this](const cluster::Membership::Told& others) {
        const std::vector<std::string> changed = shares_.Heard(others);
        security_->limits().SetShares([this](const std::string& tenant, const std::string& limit) {
          return shares_.LimitShare(tenant, limit);
        });
        if (control_ == nullptr) return;
        if (store_->Traits().shared) return control_->RefreshAll();  // others change policies, too
        for (const std::string& tenant : changed) control_->Refresh(tenant);
      });
  membership_->Start();
}

// What must answer for the role's work to be done.
void Server::AddChecks() {
  if (bus_ != nullptr && (parts_.receives || parts_.tails))
    readiness_->Add("bus", [this] { return bus_->Check(); });
  // Who only publishes can do so while the store is away: its clients keep what they were told.
  if (bus_ != nullptr && options_.role == cluster::Role::kReceive) return;
  readiness_->Add("store", [this]() -> Status {
    // Small, and as far as any question goes.
    WF_TRY(store_->ReadDocuments(security::kDefaultTenant, "policy"));
    return {};
  });
  if (!store_->Traits().shared) readiness_->Add("disk", [this] { return CheckDisk(state_); });
}

Status Server::Listen() {
  ReceiverContext receivers{.sink = sink_,
                            .authorizer = security_->authorizer(),
                            .counters = counters_,
                            .decode = {},
                            .tailer = tailer_.get(),
                            .self = self_.get(),
                            .limits = &security_->limits()};
  receivers.decode.rules = options_.attribute_rules;
  if (store_->Traits().shared) {
    if (!options_.attribute_rules.empty()) {
      WF_ASSIGN(receivers.decode.hash_key, security::SharedHashKey(*store_));
    }
  } else {
    WF_ASSIGN(receivers.decode.hash_key, security::LoadHashKey(state_));
  }
  const RouteContext routes{
      .parts = parts_,
      .store = *store_,
      .sink = sink_,
      .store_path = store::WithoutSecrets(options_.store),
      .files_path = state_,
      .authorizer = security_->authorizer(),
      .counters = counters_,
      .workers = *workers_,
      .facts = [this] { return Facts(); },
      .readiness = *readiness_,
      .decode = receivers.decode,
      .control = control_.get(),
      .live = {live_.get(), processes_.get()},
      .tailer = tailer_.get(),
      .red = &datasets_->red(),
      .self = self_.get(),
      .limits = &security_->limits(),
      .audit = &security_->audit(),
      .store_use = store_->Traits().shared ? StoreUse::kShared : StoreUse::kAlone,
      .kept_paths = &kept_paths_};
  const ListenerHandlers handlers{
      .web = live::ReadableByEventPages(security_->authorizer(), MakeWebHandler(routes)),
      .otlp_http = OtlpHttpHandler(receivers),
      .zipkin = ZipkinHandler(receivers),
      .jaeger = JaegerHandler(receivers),
      .otlp_grpc = OtlpGrpcMethods(receivers),
      .admit_http =
          [this](const net::HttpRequest& head) {
            return RefuseStranger(security_->authorizer(), head);
          },
      .admit_grpc =
          [this](const net::GrpcRequest& head) {
            return RefuseStranger(security_->authorizer(), head);
          }};
  WF_ASSIGN(BoundListeners bound,
            BindListeners(options_, handlers, *http_, *grpc_, security_->tls()));
  WF_ASSIGN(const net::ListenAddress int_address, net::ParseListenAddress(options_.int_reports));
  if (!int_address.off && parts_.receives) {
    auto receiver = IntReceiver::Start(
        {int_address, state_ + "/int", options_.int_keep_bytes, options_.retention_age_ns},
        counters_);
    if (!receiver.ok())
      return EnvironmentError("--int " + receiver.error().message, receiver.error().hint);
    int_ = std::move(*receiver);
    bound.emplace_back("int", net::ToString(int_->address()));
  }
  // The first listener answers already while the last is bound: hand the list over at once.
  const std::lock_guard lock(mutex_);
  listeners_ = std::move(bound);
  return {};
}

// Without the privileges it is off: processes with compiled-in tracepoints are asked all the same.
void Server::StartAgent() {
  if (!options_.agent || options_.role != cluster::Role::kAll) return;
  if (const Status may = live::CheckWeavePrivileges(); !may.ok()) {
    log::Info("no agent on this host: {}", may.error().message);
    return;
  }
  const std::string instance = live::AgentInstance();
  agent_ = std::make_unique<live::Agent>(
      live::MakeLocalAgentLink(*control_, *live_, instance),
      live::AgentOptions{instance, live::HostName(), live::WeaveHost({})});
}

void Server::Stop(Nanos patience) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
  }
  readiness_->Drain();
  if (agent_ != nullptr) agent_->Stop();  // it reports what it still has
  if (live_ != nullptr) live_->Stop();    // who listens is told the last and that it is the last
  if (control_ != nullptr) control_->Stop();  // who waits for news is told that there are none
  membership_->Stop();
  housekeeping_.reset();
  security_->Stop();
  if (int_ != nullptr) int_->Stop();
  const size_t cut_http = http_->Stop(patience);
  const size_t cut = cut_http + grpc_->Stop(cut_http == 0 ? patience : 0);
  if (cut != 0) log::Warn("{} connections were closed early", cut);
  io_->Stop();  // handlers that are still queued there may use the workers
  workers_.reset();
  self_->Stop();
  if (publisher_ != nullptr) {
    if (const Status drained = publisher_->Drain(patience); !drained.ok())
      log::Warn("the bus has not confirmed everything; those batches were not acknowledged: {}",
                drained.error().message);
  }
  bus_tailer_.reset();
  store_->Listen({});
  tailer_.reset();
  if (const Status flushed = store_->Flush(); !flushed.ok())
    log::Error("flush: {}", flushed.error().message);
  RemoveServerFile(state_);
}

Server::~Server() {
  if (io_ != nullptr && http_ != nullptr && grpc_ != nullptr) Stop(0);
}

}  // namespace wf::server
