#include "peer.h"

#include <cstdlib>
#include <utility>

namespace shop {

using wherefore::Block;
using wherefore::BlockKind;
using wherefore::RequestContext;
using wherefore::client::Deadline;
using wherefore::client::HttpConnection;
using wherefore::client::HttpRequest;
using wherefore::client::HttpResponse;

Peer::Peer(wherefore::Tracer& tracer, std::string service, const std::string& address,
           int connections)
    : tracer_(tracer), service_(std::move(service)) {
  const size_t colon = address.rfind(':');
  host_ = address.substr(0, colon);
  port_ = address.substr(colon + 1);
  for (int i = 0; i < connections; ++i) {
    idle_.push_back(std::make_unique<HttpConnection>(host_, port_));
  }
}

std::unique_ptr<HttpConnection> Peer::Borrow() {
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [&] { return !idle_.empty(); });
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

void Peer::Return(std::unique_ptr<HttpConnection> connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  returned_.notify_one();
}

Response Peer::Send(const RequestContext& context, const std::string& method,
                    const std::string& target) {
  HttpRequest request;
  request.method = method;
  request.path = target;
  if (context.valid()) {
    request.headers.emplace_back("traceparent", context.Traceparent());
    if (!context.tracestate().empty()) {
      request.headers.emplace_back("tracestate", context.tracestate());
    }
  }
  auto connection = Borrow();
  // A shop in trouble answers within seconds; a minute means that nobody will.
  const HttpResponse answer =
      connection->Send(request, Deadline(std::chrono::milliseconds(60'000)));
  Return(std::move(connection));
  return answer.status == 0 ? Response{504, answer.error}
                            : Response{answer.status, answer.message.body};
}

Response Peer::Call(const std::string& method, const std::string& target) {
  Block block(tracer_, method + " " + service_ + target.substr(0, target.find('?')),
              BlockKind::kClient);
  block.Label("http.request.method", method);
  block.Label("server.address", service_);
  block.Label("server.port", std::atoi(port_.c_str()));
  block.Label("db.client.connection.pool.name", "to-" + service_);
  Response response = Send(block.context(), method, target);
  block.Label("http.response.status_code", response.status);
  if (response.status >= 500) block.Fail(service_ + " answered " + response.body);
  return response;
}

}  // namespace shop
