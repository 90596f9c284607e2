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
  WF_ASSIGN(auto acceptor, TcpAcceptor::Bind(state_->io->context, address));
  auto listener = std::make_shared<HttpListener>();
  listener->options = options;
  listener->handler = std::move(handler);
  acceptor->Start([state = state_, listener](TcpSocket socket, std::string remote_address) {
    if (listener->open.fetch_add(1) >= listener->options.max_connections) {
      const auto idle = state->connections.LongestIdle(listener.get());
      if (idle == nullptr) {
        listener->open.fetch_sub(1);
        state->counters.connections_refused.fetch_add(1);
        return;  // the socket closes itself
      }
      state->counters.connections_cut.fetch_add(1);
      idle->idle_since.store(0, std::memory_order_relaxed);  // the next one takes another's place
      boost::asio::post(idle->executor(), [idle] { idle->Close(); });
    }
    auto connection =
        MakeHttpConnection(std::move(socket), std::move(remote_address), state, listener);
    if (!state->connections.Add(connection)) return;
    state->counters.connections.fetch_add(1);
    auto executor = connection->executor();
    boost::asio::post(executor, [connection] { connection->Start(); });
  });
  ListenAddress bound = acceptor->bound();
  std::lock_guard lock(state_->mutex);
  state_->acceptors.push_back(std::move(acceptor));
  return bound;
}

size_t HttpServer::Stop(Nanos patience) {
  {
    std::lock_guard lock(state_->mutex);
    for (auto& acceptor : state_->acceptors) acceptor->Close();
    state_->acceptors.clear();
  }
  state_->stopping.store(true);
  state_->connections.Close();
  for (auto& connection : state_->connections.All()) {
    auto executor = connection->executor();
    boost::asio::post(executor, [connection] { connection->CloseIfIdle(); });
  }
  if (state_->connections.WaitUntilEmpty(patience)) return 0;
  auto left = state_->connections.All();
  for (auto& connection : left) {
    auto executor = connection->executor();
    boost::asio::post(executor, [connection] { connection->Close(); });
  }
  size_t cut = left.size();
  left.clear();
  // A second is plenty for closing; an io thread stuck in a handler must not hang the shutdown.
  state_->connections.WaitUntilEmpty(kSecond);
  return cut;
}

const HttpServerCounters& HttpServer::counters() const { return state_->counters; }
size_t HttpServer::open_connections() const { return state_->connections.size(); }

}  // namespace wf::net
