#include "server/waiting_listener.h"

#include "net/address.h"
#include "server/security.h"

namespace wf::server {

WaitingListener::WaitingListener(const ServeOptions& options)
    : authorizer_("", options.allowed_hosts), readiness_(options.role) {
  readiness_.Add("started", [this] {
    const std::lock_guard lock(mutex_);
    return missing_;
  });
}

Result<std::unique_ptr<WaitingListener>> WaitingListener::Open(const ServeOptions& options) {
  std::unique_ptr<WaitingListener> listener(new WaitingListener(options));
  net::HttpListenOptions http;
  WF_ASSIGN(http.tls, LoadTls(options));
  http.max_body_bytes = http.max_wire_body_bytes = 0;
  WF_ASSIGN(const net::ListenAddress address, net::ParseListenAddress(options.http));
  const auto bound = listener->http_.Listen(
      address, http, [raw = listener.get()](const net::HttpRequest& request, auto respond) {
        respond(raw->Answer(request));
      });
  if (!bound.ok())
    return EnvironmentError("--http " + net::ToString(address) + ": " + bound.error().message,
                            "another program may hold the port: choose one with --http PORT");
  return listener;
}

WaitingListener::~WaitingListener() {
  http_.Stop(0);
  io_.Stop();
}

void WaitingListener::Miss(const std::string& what, const Error& why) {
  const std::lock_guard lock(mutex_);
  missing_ = Error{why.code, "waiting for the " + what + ": " + why.message, why.hint};
}

net::HttpResponse WaitingListener::Answer(const net::HttpRequest& request) {
  if (const auto asker = authorizer_.Authorize(
          security::CredentialsOf(request), security::Right::kNone, security::HostCheck::kStrict);
      !asker.ok())
    return {403, {{"Content-Type", "text/plain"}}, asker.error().message + "\n"};
  if (request.path == "/healthz") return {200, {{"Content-Type", "text/plain"}}, "ok\n"};
  return {
      503,
      {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}, {"Retry-After", "5"}},
      readiness_.Ask().json};
}

}  // namespace wf::server
