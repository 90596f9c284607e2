// A blocking HTTP/1.1 client that keeps its connection: for the CLI, for tests and for load
// generators. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "net/address.h"
#include "net/http_message.h"

namespace wf::net {

struct HttpClientOptions {
  Nanos connect_timeout = 5 * kSecond;
  Nanos timeout = 30 * kSecond;  // without progress
  size_t max_body_bytes = size_t{256} << 20;
  std::string ca_file;           // PEM, for https; empty: the system's roots
  std::string certificate_file;  // PEM, ours, for servers that require one
  std::string key_file;          // PEM; empty: in certificate_file
  std::string pinned_file;       // PEM; the server must present exactly this certificate
  bool accept_gzip = true;
  // Called several times a second while waiting for an answer; true ends the exchange with an error.
  std::function<bool()> give_up;
};

struct HttpClientResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;  // decoded from its Content-Encoding
};

class HttpClient {
 public:
  // Connects when first used. The URL's target is not used: Send takes one.
  explicit HttpClient(Url server, HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  using Headers = std::vector<std::pair<std::string, std::string>>;
  // Any status is a success here; an error means a failed connection or a malformed answer. A kept connection
  // that the server closed meanwhile is opened again once, so a request may arrive twice: ours are
  // idempotent.
  Result<HttpClientResponse> Send(std::string_view method, std::string_view target,
                                  const Headers& headers = {}, std::string_view body = {});
  Result<HttpClientResponse> Get(std::string_view target, const Headers& headers = {}) {
    return Send("GET", target, headers);
  }
  Result<HttpClientResponse> Post(std::string_view target, std::string_view content_type,
                                  std::string_view body, Headers headers = {}) {
    headers.emplace_back("Content-Type", content_type);
    return Send("POST", target, headers, body);
  }

  // For an answer without an end (server-sent events): `take` gets the pieces of a 200's body as they arrive,
  // and an empty piece when nothing came for `tick` or a signal arrived. It returns whether to continue.
  // Returns when the answer or `take` ends, and closes the connection. Any other status is returned with its
  // body (make the client with accept_gzip false).
  using TakePiece = std::function<bool(std::string_view piece)>;
  Result<HttpClientResponse> Stream(std::string_view target, const Headers& headers, Nanos tick,
                                    const TakePiece& take);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wf::net
