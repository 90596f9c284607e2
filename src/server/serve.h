// The running server: store, bus, receivers, tailer, web and API listener, housekeeping, as its role has them. Reads top to
// bottom: Start opens the store, binds every listener, writes server.json; Stop undoes it in reverse.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "answer/paths/kept_paths.h"
#include "cluster/membership.h"
#include "cluster/rate_shares.h"
#include "cluster/readiness.h"
#include "cluster/role.h"
#include "live/agent.h"
#include "live/live_queries.h"
#include "live/process_registry.h"
#include "net/grpc_server.h"
#include "net/http_server.h"
#include "net/io_threads.h"
#include "pipeline/bus_tailer.h"
#include "pipeline/counters.h"
#include "pipeline/pipeline.h"
#include "pipeline/store_datasets.h"
#include "server/event_sink.h"
#include "server/housekeeping.h"
#include "server/int_receiver.h"
#include "server/open_bus.h"
#include "server/routes.h"
#include "server/security.h"
#include "server/self_trace.h"
#include "server/serve_check.h"
#include "server/serve_options.h"
#include "server/server_listeners.h"
#include "server/waiting_listener.h"
#include "server/worker_pool.h"
#include "store/directory.h"
#include "store/store.h"

namespace wf::server {

class Server {
 public:
  // Lets time pass; false: whoever started us wants us to end.
  using Pause = std::function<bool(Nanos)>;
  // A database or a bus that cannot be reached is waited for, for as long as `pause` says; null when it said no.
  static Result<std::unique_ptr<Server>> Start(const ServeOptions& options, const Pause& pause);
  ~Server();  // stops

  const BoundListeners& listeners() const { return listeners_; }
  const std::string& token() const { return token_; }
  bool speaks_tls() const { return security_->tls() != nullptr; }
  void Reload() { security_->Reload(); }  // certificates, accounts, the audit log's file

  // Not ready from now on, but everything is still taken: for as long as whoever sends to us needs to notice.
  void Drain() { readiness_->Drain(); }
  // Stops accepting, lets requests under way finish for up to `patience`, publishes or writes what was taken.
  void Stop(Nanos patience);

 private:
  Server() = default;
  Status StartParts();
  Status OpenState();
  // What others must have started: tried until it is there, or waiting does not mend it.
  template <typename Open>
  Status Await(const char* what, const Open& open);
  Status StartSink();
  Status StartTailer();
  Status StartControl();
  void StartMembership();
  Status Listen();
  void StartAgent();
  void AddChecks();
  answer::ServerFacts Facts() const;  // server_facts.cc

  ServeOptions options_;
  Pause pause_;
  std::unique_ptr<WaitingListener> waiting_;  // while something is waited for
  bool gave_up_ = false;                      // told to end while waiting
  cluster::RoleParts parts_;
  std::string state_;     // the directory that is this process's own
  std::string instance_;  // a name that no other process has
  std::string token_;
  Nanos started_ns_ = 0;

  // In the order of construction; destroyed in reverse, so that nobody outlives what it borrows.
  pipeline::Counters counters_;
  answer::KeptPaths kept_paths_;
  std::unique_ptr<cluster::Readiness> readiness_;
  std::unique_ptr<Security> security_;
  std::optional<store::DirectoryLock> state_lock_;  // when the store has none
  std::unique_ptr<SelfTrace> self_;  // before the store: work ends when the store has answered
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<pipeline::StoreDatasets> datasets_;
  std::unique_ptr<bus::Bus> bus_;  // null: what is received goes to the store
  // null: nothing is received here, or there is no bus.
  std::unique_ptr<bus::BusPublisher> publisher_;
  EventSink sink_;  // of receivers
  std::unique_ptr<TracedRowSink> rows_;
  std::unique_ptr<pipeline::Tailer> tailer_;  // of what is received or imported here; null: off
  std::unique_ptr<pipeline::BusTailer> bus_tailer_;  // of what the bus has; null: there is none
  // Null when the role has no clients.
  std::unique_ptr<live::ProcessRegistry> processes_;
  std::unique_ptr<live::ControlHub> control_;
  std::unique_ptr<live::LiveQueries> live_;  // its thread tells control_
  cluster::RateShares shares_;
  std::unique_ptr<cluster::Membership> membership_;  // its thread tells control_, too
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<net::IoThreads> io_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<net::GrpcServer> grpc_;
  std::unique_ptr<IntReceiver> int_;    // null: off
  std::unique_ptr<live::Agent> agent_;  // of this host; null: off
  std::unique_ptr<Housekeeping> housekeeping_;

  mutable std::mutex mutex_;
  BoundListeners listeners_;
  bool stopped_ = false;
};

}  // namespace wf::server
