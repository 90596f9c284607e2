// What carries a GrpcSession: the socket itself, or TLS over it.
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "net/grpc_session.h"
#include "net/tls_context.h"

namespace wf::net {
namespace {

namespace asio = boost::asio;

template <typename Stream>
class GrpcSessionOver : public GrpcSession {
 public:
  GrpcSessionOver(Stream stream, std::string remote_address,
                  std::shared_ptr<GrpcServer::State> server, std::shared_ptr<GrpcListener> listener)
      : GrpcSession(stream.get_executor(), std::move(remote_address), std::move(server),
                    std::move(listener)),
        stream_(std::move(stream)) {}

  Strand executor() override { return stream_.get_executor(); }
  void Open() override { Start(); }

 protected:
  void ReadSome() override {
    stream_.async_read_some(asio::buffer(input_),
                            [self = Self()](ErrorCode ec, size_t size) { self->OnRead(ec, size); });
  }
  void WriteAll() override {
    asio::async_write(stream_, asio::buffer(output_),
                      [self = Self()](ErrorCode ec, size_t) { self->OnWritten(ec); });
  }
  void CloseSocket() override {
    ErrorCode ignored;
    stream_.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
  }
  std::shared_ptr<GrpcSessionOver> Self() {
    return std::static_pointer_cast<GrpcSessionOver>(shared_from_this());
  }

  Stream stream_;
};

using TlsStream = asio::ssl::stream<TcpSocket>;

class TlsGrpcSession final : public GrpcSessionOver<TlsStream> {
 public:
  using GrpcSessionOver::GrpcSessionOver;

  void Open() override {
    const std::shared_ptr<TlsKeys::Impl> keys = options().tls->impl();
    TlsHandshakes::Place place;
    const bool cut = keys->handshakes.Begin(
        [io = server_->io, weak = weak_from_this()] {
          io->PostTo(weak, [](GrpcSession& self) { self.Close(); });
        },
        &place);
    if (cut) keys->counters.handshakes_cut.fetch_add(1);
    timer_.expires_after(std::chrono::nanoseconds(options().handshake_timeout));
    timer_.async_wait([self = Self(), keys](ErrorCode ec) {
      if (ec || self->closed()) return;
      keys->counters.handshakes_late.fetch_add(1);
      self->Close();
    });
    stream_.async_handshake(asio::ssl::stream_base::server,
                            [self = Self(), keys, place](ErrorCode ec) {
                              keys->handshakes.End(place);
                              static_cast<TlsGrpcSession&>(*self).OnHandshake(ec, keys->counters);
                            });
  }

 private:
  void OnHandshake(ErrorCode ec, TlsCounters& counters) {
    if (closed_) return;
    timer_.cancel();
    if (ec) {
      counters.handshakes_failed.fetch_add(1);
      return Close();
    }
    counters.handshakes.fetch_add(1);
    client_name_ = TlsClientName(stream_.native_handle());
    Start();
  }
};

}  // namespace

std::shared_ptr<GrpcSession> MakeGrpcSession(TcpSocket socket, std::string remote_address,
                                             std::shared_ptr<GrpcServer::State> server,
                                             std::shared_ptr<GrpcListener> listener) {
  if (listener->options.tls == nullptr)
    return std::make_shared<GrpcSessionOver<TcpSocket>>(
        std::move(socket), std::move(remote_address), std::move(server), std::move(listener));
  const auto context = listener->options.tls->impl()->Context(TlsProtocol::kHttp2);
  return std::make_shared<TlsGrpcSession>(TlsStream(std::move(socket), *context),
                                          std::move(remote_address), std::move(server),
                                          std::move(listener));
}

}  // namespace wf::net
