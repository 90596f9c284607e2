#include "net/grpc_server.h"

#include <utility>

#include "base/check.h"
#include "net/grpc_session.h"

namespace wf::net {

GrpcResponder::~GrpcResponder() {
  if (!sink_) return;
  GrpcReply reply;
  reply.code = kGrpcInternal;
  reply.message = "the call was dropped without an answer: a bug in wherefore";
  sink_(std::move(reply));
}

void GrpcResponder::operator()(GrpcReply reply) {
  WF_CHECK(sink_ != nullptr);  // answered twice, or moved from
  std::exchange(sink_, nullptr)(std::move(reply));
}

GrpcServer::GrpcServer(IoThreads& io) : state_(std::make_shared<State>()) {
  state_->io = io.impl();
}

GrpcServer::~GrpcServer() { Stop(0); }

Result<ListenAddress> GrpcServer::Listen(const ListenAddress& address,
                                         const GrpcListenOptions& options, GrpcMethods methods) {
  if (address.off) return address;
  WF_ASSIGN(auto acceptor, TcpAcceptor::Bind(state_->io->context, address));
  auto listener = std::make_shared<GrpcListener>();
  listener->options = options;
  listener->methods = std::move(methods);
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
    auto session = MakeGrpcSession(std::move(socket), std::move(remote_address), state, listener);
    if (!state->connections.Add(session)) return;
    state->counters.connections.fetch_add(1);
    auto executor = session->executor();
    boost::asio::post(executor, [session] { session->Open(); });
  });
  ListenAddress bound = acceptor->bound();
  std::lock_guard lock(state_->mutex);
  state_->acceptors.push_back(std::move(acceptor));
  return bound;
}

size_t GrpcServer::Stop(Nanos patience) {
  {
    std::lock_guard lock(state_->mutex);
    for (auto& acceptor : state_->acceptors) acceptor->Close();
    state_->acceptors.clear();
  }
  state_->stopping.store(true);
  state_->connections.Close();
  for (auto& session : state_->connections.All()) {
    auto executor = session->executor();
    boost::asio::post(executor, [session] { session->GoAway(); });
  }
  if (state_->connections.WaitUntilEmpty(patience)) return 0;
  auto left = state_->connections.All();
  for (auto& session : left) {
    auto executor = session->executor();
    boost::asio::post(executor, [session] { session->Close(); });
  }
  size_t cut = left.size();
  left.clear();
  // A second is plenty for closing; an io thread stuck in a handler must not hang the shutdown.
  state_->connections.WaitUntilEmpty(kSecond);
  return cut;
}

const GrpcServerCounters& GrpcServer::counters() const { return state_->counters; }
size_t GrpcServer::open_connections() const { return state_->connections.size(); }

}  // namespace wf::net
