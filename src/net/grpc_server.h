// A gRPC server for unary calls over HTTP/2, plain or TLS, on the same io threads as the HTTP
// listeners. Why not grpc++: docs/decisions/0003-grpc-on-nghttp2.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/nanos.h"
#include "base/result.h"
#include "net/address.h"
#include "net/byte_budget.h"
#include "net/grpc_message.h"
#include "net/http_message.h"
#include "net/io_threads.h"
#include "net/tls_server.h"

namespace wf::net {

struct GrpcRequest {
  std::string path;  // "/package.Service/Method"
  HttpHeaders metadata;
  std::string message;  // decoded from its grpc-encoding
  std::string remote_address;
  std::string client_certificate;  // the verified common name in it; "" without one
  size_t wire_bytes = 0;           // of the message, as received
};

struct GrpcReply {
  int code = kGrpcOk;
  std::string message;  // the status message, UTF-8; for people
  std::string reply;    // the protobuf; sent when code is kGrpcOk
  // "Try again after this": sent as google.rpc.RetryInfo in the status details.
  std::optional<Nanos> retry_delay;
};

// Answers one call, from any thread, once; like HttpResponder. Dropped without a call, it answers
// INTERNAL.
class GrpcResponder {
 public:
  using Sink = std::function<void(GrpcReply)>;
  explicit GrpcResponder(Sink sink) : sink_(std::move(sink)) {}
  GrpcResponder(GrpcResponder&& o) noexcept : sink_(std::exchange(o.sink_, nullptr)) {}
  GrpcResponder& operator=(GrpcResponder&&) = delete;
  ~GrpcResponder();

  void operator()(GrpcReply reply);

 private:
  Sink sink_;
};

using GrpcHandler = std::function<void(GrpcRequest, GrpcResponder)>;
using GrpcMethods = std::map<std::string, GrpcHandler>;  // by path; any other path is UNIMPLEMENTED

struct GrpcListenOptions {
  // As received and after decoding; more is RESOURCE_EXHAUSTED.
  size_t max_message_bytes = 64 << 20;
  size_t max_header_bytes = 16 << 10;
  uint32_t max_concurrent_streams = 256;  // per connection
  size_t max_connections = 1024;
  // How much a sender may send before we acknowledge: several 160 KiB exports, at any sane round trip.
  uint32_t stream_window_bytes = 4 << 20;
  uint32_t connection_window_bytes = 16 << 20;
  Nanos handshake_timeout = 10 * kSecond;  // of TLS
  Nanos preface_timeout = 10 * kSecond;    // from connect to HTTP/2's opening bytes
  // From a call's head to its last byte; then DEADLINE_EXCEEDED.
  Nanos request_timeout = 60 * kSecond;
  // Without any call; then GOAWAY. Exporters reconnect by themselves.
  Nanos idle_timeout = 15 * kMinute;
  // Messages held at once. Above the limit a call is answered UNAVAILABLE with retry_delay. Null: no limit.
  std::shared_ptr<ByteBudget> budget;
  Nanos retry_delay = kSecond;
  std::shared_ptr<TlsKeys> tls = nullptr;  // null: plain
  // Called when the metadata of a call has arrived: a reply refuses the call before any of its message is
  // held. Runs on an io thread.
  std::function<std::optional<GrpcReply>(const GrpcRequest& head)> admit = nullptr;
};

// What happened, by name; shown in /metrics.
struct GrpcServerCounters {
  std::atomic<uint64_t> connections{0};
  std::atomic<uint64_t> connections_refused{0};  // max_connections
  std::atomic<uint64_t> connections_cut{0};      // idle ones closed for a new one
  std::atomic<uint64_t> requests{0};             // passed to a handler
  std::atomic<uint64_t> message_bytes{0};        // of those, as received
  std::atomic<uint64_t> malformed{0};      // not HTTP/2, not gRPC, bad framing, unknown encoding
  std::atomic<uint64_t> unimplemented{0};  // unknown path
  std::atomic<uint64_t> too_large{0};
  std::atomic<uint64_t> overloaded{0};
  std::atomic<uint64_t> timeouts{0};
};

class GrpcServer {
 public:
  // `io` outlives the server.
  explicit GrpcServer(IoThreads& io);
  ~GrpcServer();  // calls Stop with no patience
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // As HttpServer::Listen. Handlers run on io threads; calls of one connection one after another.
  Result<ListenAddress> Listen(const ListenAddress& address, const GrpcListenOptions& options,
                               GrpcMethods methods);

  // GOAWAY to every connection, then as HttpServer::Stop.
  size_t Stop(Nanos patience);

  const GrpcServerCounters& counters() const;
  size_t open_connections() const;

  struct State;  // in grpc_session.h

 private:
  std::shared_ptr<State> state_;  // shared with connections that are still closing
};

}  // namespace wf::net
