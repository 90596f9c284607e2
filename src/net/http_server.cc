#include "net/http_server.h"

#include <utility>

#include "net/http_connection.h"

namespace wf::net {

HttpServer::HttpServer(IoThreads& io) : state_(std::make_shared<State>()) {
  state_->io = io.impl();
}

HttpServer::~HttpServer() { Stop(0); }

Result<ListenAddress> HttpServer::Listen(const ListenAddress& address,
                                         const HttpListenOptions& options, HttpHandler handler) {
  if (address.off) return address;
  auto listener = std::make_shared<HttpListener>();
  listener->options = options;
  listener->handler = std::move(handler);
  auto make = [state = state_, listener](TcpSocket socket, std::string remote_address) {
    return MakeHttpConnection(std::move(socket), std::move(remote_address), state, listener);
  };
  return ListenAt(address, state_, listener, std::move(make), &HttpServerConnection::Start);
}

size_t HttpServer::Stop(Nanos patience) {
  return StopServing(*state_, patience, &HttpServerConnection::CloseIfIdle);
}

const HttpServerCounters& HttpServer::counters() const { return state_->counters; }
size_t HttpServer::open_connections() const { return state_->connections.size(); }
size_t HttpServer::idle_connections() const { return state_->connections.CountIdle(); }

}  // namespace wf::net
