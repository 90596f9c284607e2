// The running server: store, receivers, web and API listener, housekeeping. Reads top to bottom: Start opens the
// store, binds every listener, writes server.json; Stop undoes it in reverse.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/grpc_server.h"
#include "net/http_server.h"
#include "net/io_threads.h"
#include "pipeline/pipeline.h"
#include "pipeline/store_datasets.h"
#include "server/agent.h"
#include "server/authorize.h"
#include "server/counters.h"
#include "server/int_receiver.h"
#include "server/live_queries.h"
#include "server/process_registry.h"
#include "server/routes.h"
#include "server/serve_options.h"
#include "server/worker_pool.h"
#include "store/store.h"

namespace wf {

// Everything that can be known wrong before anything is opened: addresses, rules. For `serve --check`.
Status CheckServeOptions(const ServeOptions& options);

class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(const ServeOptions& options);
  ~Server();  // stops

  // "http" → "127.0.0.1:8642", in the order they are printed; those that are off have the address "off".
  const std::vector<std::pair<std::string, std::string>>& listeners() const { return listeners_; }
  const std::string& token() const { return token_; }

  // Stops accepting, lets requests under way finish for up to `patience`, flushes the store.
  void Stop(Nanos patience);

 private:
  Server() = default;
  Status StartTailer();
  Status StartControl();
  Status Listen();
  void StartAgent();
  void Housekeeping();
  ServerFacts Facts() const;

  ServeOptions options_;
  std::string token_;
  Nanos started_ns_ = 0;
  std::vector<std::pair<std::string, std::string>> listeners_;

  // In the order of construction; destroyed in reverse, so that nobody outlives what it borrows.
  Counters counters_;
  std::unique_ptr<Authorizer> authorizer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreDatasets> datasets_;
  std::unique_ptr<Tailer> tailer_;  // null: off
  std::unique_ptr<ProcessRegistry> processes_;
  std::unique_ptr<ControlHub> control_;
  std::unique_ptr<LiveQueries> live_;  // its thread tells control_
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<net::IoThreads> io_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<net::GrpcServer> grpc_;
  std::unique_ptr<IntReceiver> int_;  // null: off
  std::unique_ptr<Agent> agent_;      // of this host; null: off

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> stopping_{false};  // written under mutex_, read by readiness
  bool stopped_ = false;
  std::thread housekeeper_;
};

}  // namespace wf
