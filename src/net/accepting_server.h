// What HttpServer and GrpcServer share, each with its own kind of connection: listen, close the longest idle
// connection for a new one when there are too many, and stop.
#pragma once

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "net/address.h"
#include "net/connection_set.h"
#include "net/io_context.h"
#include "net/tcp_acceptor.h"

namespace wf::net {

template <typename Connection, typename Counters>
struct AcceptingServer {
  std::shared_ptr<IoThreads::Impl> io;
  Counters counters;
  std::atomic<bool> stopping{false};
  ConnectionSet<Connection> connections;
  std::mutex mutex;
  std::vector<std::shared_ptr<TcpAcceptor>> acceptors;  // guarded by mutex
};

template <typename Connection>
void PostTo(const std::shared_ptr<Connection>& connection, void (Connection::*method)()) {
  auto executor = connection->executor();
  boost::asio::post(executor, [connection, method] { (connection.get()->*method)(); });
}

// `make(socket, remote_address)` makes the connection; `begin` is then called on its executor.
template <typename State, typename Listener, typename Make, typename Connection>
Result<ListenAddress> ListenAt(const ListenAddress& address, std::shared_ptr<State> state,
                               std::shared_ptr<Listener> listener, Make make,
                               void (Connection::*begin)()) {
  WF_ASSIGN(auto acceptor, TcpAcceptor::Bind(state->io->context, address));
  acceptor->Start([state, listener, make = std::move(make), begin](TcpSocket socket,
                                                                   std::string remote_address) {
    if (listener->open.fetch_add(1) >= listener->options.max_connections) {
      const auto idle = state->connections.LongestIdle(listener.get());
      if (idle == nullptr) {
        listener->open.fetch_sub(1);
        state->counters.connections_refused.fetch_add(1);
        return;  // the socket closes in its destructor
      }
      state->counters.connections_cut.fetch_add(1);
      // So that the next new one replaces another.
      idle->idle_since.store(0, std::memory_order_relaxed);
      PostTo(idle, &Connection::Close);
    }
    std::shared_ptr<Connection> connection = make(std::move(socket), std::move(remote_address));
    if (!state->connections.Add(connection)) return;
    state->counters.connections.fetch_add(1);
    PostTo(connection, begin);
  });
  ListenAddress bound = acceptor->bound();
  std::lock_guard lock(state->mutex);
  state->acceptors.push_back(std::move(acceptor));
  return bound;
}

// Calls `retire` on every connection and closes those still open after `patience`. Returns how many those
// were.
template <typename State, typename Connection>
size_t StopServing(State& state, Nanos patience, void (Connection::*retire)()) {
  {
    std::lock_guard lock(state.mutex);
    for (auto& acceptor : state.acceptors) acceptor->Close();
    state.acceptors.clear();
  }
  state.stopping.store(true);
  state.connections.Close();
  for (auto& connection : state.connections.All()) PostTo(connection, retire);
  if (state.connections.WaitUntilEmpty(patience)) return 0;
  auto left = state.connections.All();
  for (auto& connection : left) PostTo(connection, &Connection::Close);
  const size_t cut = left.size();
  left.clear();
  // A second is plenty for closing; an io thread stuck in a handler must not hang the shutdown.
  state.connections.WaitUntilEmpty(kSecond);
  return cut;
}

}  // namespace wf::net
