// What the HTTP server and client exchange with their callers. Plain values; no Beast here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace wf::net {

class HttpBodyStream;

// In order of arrival; names compare without case.
class HttpHeaders {
 public:
  void Add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // The first value, or "" when there is none. Valid while this object is not changed.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

bool EqualsIgnoringCase(std::string_view a, std::string_view b);

using QueryParameters = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;
  std::string path;        // percent-decoded, without the query
  std::string raw_target;  // as received
  QueryParameters query;   // decoded, in order
  HttpHeaders headers;
  std::string body;  // already decoded from its Content-Encoding
  std::string remote_address;
  std::string client_certificate;  // the verified common name in it; "" without one
  size_t wire_bytes = 0;           // of the body, as received

  // The first parameter of that name, or nullptr.
  const std::string* Query(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Used instead of `body`: written while the answer is being sent (net/http_body_stream.h). The connection
  // ends with it.
  std::shared_ptr<HttpBodyStream> stream = nullptr;
};

// Answers one request, from any thread, once. Move-only. If it is destroyed without a call, it answers 500,
// so that no client hangs because of our bug. It may outlive the server; the answer is then dropped.
class HttpResponder {
 public:
  using Sink = std::function<void(HttpResponse)>;
  explicit HttpResponder(Sink sink) : sink_(std::move(sink)) {}
  HttpResponder(HttpResponder&& o) noexcept : sink_(std::exchange(o.sink_, nullptr)) {}
  HttpResponder& operator=(HttpResponder&&) = delete;
  ~HttpResponder();

  void operator()(HttpResponse response);

 private:
  Sink sink_;
};

using HttpHandler = std::function<void(HttpRequest, HttpResponder)>;

// Splits "/a%20b?x=1&y" into its decoded parts. An absolute-form target loses its scheme and host.
struct HttpTarget {
  std::string path;
  QueryParameters query;
};
Result<HttpTarget> ParseTarget(std::string_view target);

// {"error":{"code":…,"message":…,"hint":…}} with its status: the shape of every error that this program
// answers with.
HttpResponse ErrorResponse(int status, std::string_view code, std::string_view message,
                           std::string_view hint);

}  // namespace wf::net
