// HTTP/1.1 listeners on shared io threads, plain or TLS: one handler per listener, answers from any
// thread. No routing here (src/server does that).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "base/result.h"
#include "net/address.h"
#include "net/byte_budget.h"
#include "net/http_message.h"
#include "net/io_threads.h"
#include "net/tls_server.h"

namespace wf::net {

struct HttpListenOptions {
  size_t max_body_bytes = 64 << 20;       // after decoding; more is answered 413
  size_t max_wire_body_bytes = 64 << 20;  // as received
  size_t max_header_bytes = 16 << 10;     // more is answered 431
  // Above this number, a new connection replaces the one that has been idle for longest; if none is idle, the
  // new one is closed at once. So clients that connect and send little or nothing do not keep others out.
  size_t max_connections = 1024;
  // A connection without any input is closed after idle_timeout. One that has begun a request head must end
  // it within header_timeout, and must send each further 256 KiB of body (or read as much of an answer)
  // within body_timeout.
  Nanos handshake_timeout = 10 * kSecond;  // of TLS
  Nanos idle_timeout = 75 * kSecond;
  Nanos header_timeout = 10 * kSecond;
  Nanos body_timeout = 30 * kSecond;
  // Bodies held at once. Above the limit a request is answered 429 with this Retry-After. Null: no limit.
  // Listeners with the same object share the limit.
  std::shared_ptr<ByteBudget> budget;
  int retry_after_seconds = 1;
  std::shared_ptr<TlsKeys> tls = nullptr;  // null: plain
  // Called when a head that announces a body has arrived: an answer refuses the request before any of the
  // body is held. Runs on an io thread.
  std::function<std::optional<HttpResponse>(const HttpRequest& head)> admit = nullptr;
};

// What happened, by name; shown in /metrics. Written by the io threads, read by anyone.
struct HttpServerCounters {
  std::atomic<uint64_t> connections{0};
  std::atomic<uint64_t> connections_refused{0};  // max_connections
  std::atomic<uint64_t> connections_cut{0};      // idle ones closed for a new one
  std::atomic<uint64_t> requests{0};             // passed to the handler
  std::atomic<uint64_t> body_bytes{0};           // of those, as received
  std::atomic<uint64_t> malformed{0};            // 400, 415, 417, 431
  std::atomic<uint64_t> too_large{0};            // 413
  std::atomic<uint64_t> overloaded{0};           // 429
  std::atomic<uint64_t> timeouts{0};
};

class HttpServer {
 public:
  // `io` outlives the server.
  explicit HttpServer(IoThreads& io);
  ~HttpServer();  // calls Stop with no patience
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds and begins to accept. Returns the address with the port that was bound; "off" is returned
  // unchanged. The handler runs on an io thread, for several connections at once, for one
  // connection one request at a time.
  Result<ListenAddress> Listen(const ListenAddress& address, const HttpListenOptions& options,
                               HttpHandler handler);

  // Stops accepting, closes idle connections, lets requests in progress be answered for up to `patience`,
  // then closes the rest. Blocks; not to be called from an io thread. Returns how many connections were cut.
  size_t Stop(Nanos patience);

  const HttpServerCounters& counters() const;
  size_t open_connections() const;
  size_t idle_connections() const;  // of the open ones

  struct State;  // in http_connection.h

 private:
  std::shared_ptr<State> state_;  // shared with connections that are still closing
};

}  // namespace wf::net
