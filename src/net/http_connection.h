// Internal to HttpServer: one HTTP/1.1 connection, one request at a time, all on its strand.
//
//   AwaitRequest → ReadHead → (100 Continue) → ReadSizedBody | ReadChunkedBody → Dispatch
//                                                     … handler, any thread … → Answer → WriteSlice
//                                                     → AwaitRequest
//
// An answer whose body is a stream is sent in chunks as they are written (PumpStream). Meanwhile the
// connection is read, to notice when the client leaves, and it is closed at the end.
//
// The class is one template for plain and TLS streams, so that a plain connection does not pay for TLS. Over
// TLS it begins with a handshake.
//
// A refusal (400, 413, 429 …) goes straight to Answer. It may leave unread body behind, so the connection is
// closed after it, with lingering: closing with unread input makes the kernel send RST, which can destroy the
// answer before the client reads it.
#pragma once

#include <atomic>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "net/accepting_server.h"
#include "net/compression.h"
#include "net/http_body_stream.h"
#include "net/http_server.h"
#include "net/io_context.h"
#include "net/tcp_acceptor.h"
#include "net/tls_context.h"

namespace wf::net {

class HttpServerConnection;

// The state of one Listen call, shared by its connections.
struct HttpListener {
  HttpListenOptions options;
  HttpHandler handler;
  std::atomic<size_t> open{0};
};

struct HttpServer::State : AcceptingServer<HttpServerConnection, HttpServerCounters> {};

// What the server stores of a connection, plain or TLS.
class HttpServerConnection : public std::enable_shared_from_this<HttpServerConnection> {
 public:
  explicit HttpServerConnection(const void* of) : listener(of) {}
  virtual ~HttpServerConnection() = default;
  const void* const listener;
  std::atomic<Nanos> idle_since{
      MonotonicNow()};  // 0 from the head of a request until its answer is sent
  virtual Strand executor() = 0;
  // The functions below run on the executor.
  virtual void Start() = 0;
  virtual void Answer(HttpResponse response) = 0;
  virtual void PumpStream() = 0;
  virtual void CloseIfIdle() = 0;
  virtual void Close() = 0;
};

using PlainHttpStream = boost::beast::basic_stream<boost::asio::ip::tcp, Strand>;
// Not Beast's ssl_stream: in Boost 1.81 an answer of a small head and a body of more than 16 KB ended, with
// success, after its head (tls_server_test has the sizes). Asio's own also joins small buffers into one
// record.
using TlsHttpStream = boost::asio::ssl::stream<PlainHttpStream>;

// Makes a plain or TLS connection, as the listener is configured.
std::shared_ptr<HttpServerConnection> MakeHttpConnection(TcpSocket socket,
                                                         std::string remote_address,
                                                         std::shared_ptr<HttpServer::State> server,
                                                         std::shared_ptr<HttpListener> listener);

template <typename Stream>
class HttpConnection final : public HttpServerConnection {
 public:
  HttpConnection(Stream stream, std::string remote_address,
                 std::shared_ptr<HttpServer::State> server, std::shared_ptr<HttpListener> listener);
  ~HttpConnection() override;

  Strand executor() override { return stream_.get_executor(); }
  void Start() override;
  void Answer(HttpResponse response) override;
  void PumpStream() override;
  void CloseIfIdle() override;
  void Close() override;

 private:
  static constexpr bool kTls = std::is_same_v<Stream, TlsHttpStream>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  void Handshake();
  void AwaitRequest();
  void ReadHead();
  void OnHead(ErrorCode ec);
  bool TakeHead();  // false: refused
  void BeginBody();
  void ReadSizedBody(size_t size);
  void ReadChunkedBody();
  void Dispatch();
  HttpResponder MakeResponder();
  void WriteSlice();
  void BeginStream();
  void AwaitLeave();
  void AfterAnswer();
  void ShutDown();
  void Linger();
  void Refuse(int status, std::string_view code, std::string_view message, std::string_view hint);
  void RefuseTooLarge(size_t limit);
  void RefuseOverloaded();
  void OnReadError(ErrorCode ec);
  void ExpireIn(Nanos timeout);

  std::shared_ptr<HttpConnection> Self() {
    return std::static_pointer_cast<HttpConnection>(shared_from_this());
  }
  PlainHttpStream& Lowest() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }
  const HttpListenOptions& options() const { return listener_->options; }

  std::shared_ptr<HttpServer::State> server_;
  std::shared_ptr<HttpListener> listener_;
  Stream stream_;
  const std::string remote_address_;
  std::string client_name_;           // from its certificate
  boost::beast::flat_buffer buffer_;  // read and not yet parsed
  std::optional<Parser> parser_;
  HttpRequest request_;
  Compression encoding_ = Compression::kIdentity;
  BudgetCharge charge_;
  bool idle_ = true;         // between requests
  bool keep_alive_ = false;  // after this answer
  bool unread_body_ = false;
  bool closed_ = false;
  bool head_only_ = false;
  bool http10_ = false;
  std::string head_out_;
  std::string body_out_;
  size_t body_written_ = 0;
  std::shared_ptr<HttpBodyStream> stream_out_;  // instead of body_out_
  bool pumping_ = false;                        // a piece of stream_out_ is being written
};

}  // namespace wf::net
