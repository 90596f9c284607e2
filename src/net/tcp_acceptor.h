// Internal to the servers: binds one address and passes on each accepted socket, on a strand of its own.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/address.h"

namespace wf::net {

using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;
// Typed by the strand, not by any_io_executor: saves one virtual call per operation.
using TcpSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Strand>;

class TcpAcceptor : public std::enable_shared_from_this<TcpAcceptor> {
 public:
  using OnSocket = std::function<void(TcpSocket socket, std::string remote_address)>;

  static Result<std::shared_ptr<TcpAcceptor>> Bind(boost::asio::io_context& context,
                                                   const ListenAddress& address);
  const ListenAddress& bound() const { return bound_; }
  void Start(OnSocket on_socket);
  void Close();  // any thread

  explicit TcpAcceptor(boost::asio::io_context& context);

 private:
  void Accept();

  boost::asio::io_context& context_;
  Strand strand_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Strand> acceptor_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Strand>
      retry_;
  ListenAddress bound_;
  OnSocket on_socket_;
};

}  // namespace wf::net
