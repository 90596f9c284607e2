// The web and API listener of a process that waits for its store or its bus to answer for the first time: it lives
// (/healthz) and is not ready (/readyz says what is missing), and that is all there is. In a cluster that starts in any
// order nobody has to be restarted for it. It gives its address up when it ends.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "cluster/readiness.h"
#include "net/http_server.h"
#include "net/io_threads.h"
#include "security/authorize.h"
#include "server/serve_options.h"

namespace wf::server {

class WaitingListener {
 public:
  static Result<std::unique_ptr<WaitingListener>> Open(const ServeOptions& options);
  ~WaitingListener();

  // What is waited for, and why. From any thread.
  void Miss(const std::string& what, const Error& why);

 private:
  explicit WaitingListener(const ServeOptions& options);
  net::HttpResponse Answer(const net::HttpRequest& request);

  const security::Authorizer authorizer_;  // of the Host header; nobody has rights here
  std::mutex mutex_;
  Status missing_ = EnvironmentError("starting");
  cluster::Readiness readiness_;
  net::IoThreads io_{1};
  net::HttpServer http_{io_};
};

// Whether waiting may mend it: a server that is away or busy comes back, a wrong password does not become right.
inline bool WaitingMayMend(const Error& error) {
  return error.code == ErrorCode::kEnvironment || error.code == ErrorCode::kOverloaded;
}

}  // namespace wf::server
