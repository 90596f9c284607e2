#include "net/tcp_acceptor.h"

#include <fmt/format.h>

#include <boost/asio/dispatch.hpp>
#include <utility>

namespace wf::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

TcpAcceptor::TcpAcceptor(asio::io_context& context)
    : context_(context), strand_(context.get_executor()), acceptor_(strand_), retry_(strand_) {}

Result<std::shared_ptr<TcpAcceptor>> TcpAcceptor::Bind(asio::io_context& context,
                                                       const ListenAddress& address) {
  auto self = std::make_shared<TcpAcceptor>(context);
  auto failed = [&](std::string_view what, const error_code& ec) {
    return EnvironmentError(
        fmt::format("listener {}: {}: {}", ToString(address), what, ec.message()),
        ec == asio::error::address_in_use
            ? "stop the other program, or choose another port (0 picks a free one)"
            : "choose an address of this machine");
  };
  error_code ec;
  tcp::resolver resolver(context);
  auto found = resolver.resolve(address.host, std::to_string(address.port),
                                tcp::resolver::passive | tcp::resolver::numeric_service, ec);
  if (ec) return failed("cannot find the host", ec);
  tcp::endpoint endpoint = *found.begin();
  self->acceptor_.open(endpoint.protocol(), ec);
  if (ec) return failed("cannot open a socket", ec);
  self->acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  self->acceptor_.bind(endpoint, ec);
  if (ec) return failed("cannot bind", ec);
  self->acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return failed("cannot listen", ec);
  endpoint = self->acceptor_.local_endpoint(ec);
  if (ec) return failed("cannot read the bound port", ec);
  self->bound_.host = endpoint.address().to_string();
  self->bound_.port = endpoint.port();
  return self;
}

void TcpAcceptor::Start(OnSocket on_socket) {
  on_socket_ = std::move(on_socket);
  asio::dispatch(strand_, [self = shared_from_this()] { self->Accept(); });
}

void TcpAcceptor::Accept() {
  acceptor_.async_accept(Strand(context_.get_executor()),
                         [self = shared_from_this()](error_code ec, TcpSocket socket) {
                           if (!self->acceptor_.is_open()) return;
                           if (ec) {
                             // Out of descriptors, usually: accepting again at once would spin.
                             self->retry_.expires_after(std::chrono::milliseconds(100));
                             self->retry_.async_wait([self](error_code) {
                               if (self->acceptor_.is_open()) self->Accept();
                             });
                             return;
                           }
                           error_code ignored;
                           socket.set_option(tcp::no_delay(true), ignored);
                           tcp::endpoint remote = socket.remote_endpoint(ignored);
                           ListenAddress from;
                           from.host = remote.address().to_string();
                           from.port = remote.port();
                           self->on_socket_(std::move(socket), ToString(from));
                           self->Accept();
                         });
}

void TcpAcceptor::Close() {
  asio::post(strand_, [self = shared_from_this()] {
    error_code ignored;
    self->acceptor_.close(ignored);
    self->retry_.cancel();
    self->on_socket_ = nullptr;  // it owns the server's state, which owns us
  });
}

}  // namespace wf::net
