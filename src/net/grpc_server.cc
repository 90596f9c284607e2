#include "net/grpc_server.h"

#include <utility>

#include "base/check.h"
#include "net/grpc_session.h"

namespace wf::net {

GrpcResponder::~GrpcResponder() {
  if (!sink_) return;
  GrpcReply reply;
  reply.code = kGrpcInternal;
  reply.message = "the call was dropped without a response: a bug in wherefore";
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
  auto listener = std::make_shared<GrpcListener>();
  listener->options = options;
  listener->methods = std::move(methods);
  auto make = [state = state_, listener](TcpSocket socket, std::string remote_address) {
    return MakeGrpcSession(std::move(socket), std::move(remote_address), state, listener);
  };
  return ListenAt(address, state_, listener, std::move(make), &GrpcSession::Open);
}

size_t GrpcServer::Stop(Nanos patience) {
  return StopServing(*state_, patience, &GrpcSession::GoAway);
}

const GrpcServerCounters& GrpcServer::counters() const { return state_->counters; }
size_t GrpcServer::open_connections() const { return state_->connections.size(); }

}  // namespace wf::net
