// Calls from one service of the shop to another: a pool of kept connections, a CLIENT block around
// each call, and the context in the request's headers.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/transport/http_connection.h"
#include "http_server.h"
#include "wherefore/tracer.h"

namespace shop {

// Thread-safe. At most `connections` calls run at once; further ones wait for a connection.
class Peer {
 public:
  Peer(wherefore::Tracer& tracer, std::string service, const std::string& address, int connections);

  // With a CLIENT block. A call that gets no answer comes back with status 504.
  Response Call(const std::string& method, const std::string& target);
  // Without a block of its own: `context` is what the receiver gets as its parent.
  Response Send(const wherefore::RequestContext& context, const std::string& method,
                const std::string& target);

 private:
  std::unique_ptr<wherefore::client::HttpConnection> Borrow();
  void Return(std::unique_ptr<wherefore::client::HttpConnection> connection);

  wherefore::Tracer& tracer_;
  const std::string service_;
  std::string host_;
  std::string port_;

  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<wherefore::client::HttpConnection>> idle_;
};

}  // namespace shop
