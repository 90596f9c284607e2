// A blocking HTTP/1.1 client over one kept-alive connection to one host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/runtime/deadline.h"
#include "client/transport/http_message.h"

namespace wherefore::client {

struct HttpUrl {
  std::string host;
  std::string port;
  std::string path;  // "/" at least

  // "http://host[:port][/path]"; nothing for other schemes or malformed text. IPv6 hosts stand in brackets.
  static std::optional<HttpUrl> Parse(std::string_view text);
};

struct HttpRequest {
  std::string method;
  std::string path;
  HttpHeaders headers;  // Host, Content-Length and Connection are added
  std::string body;
};

struct HttpResponse {
  int status = 0;     // 0: no answer, see error
  std::string error;  // names the peer and the reason
  HttpMessage message;
};

// One thread at a time. The connection is opened by the first request and kept while both sides agree.
class HttpConnection {
 public:
  HttpConnection(std::string host, std::string port);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // A kept connection that the server closed meanwhile is opened again once; so a request may arrive twice.
  HttpResponse Send(const HttpRequest& request, const Deadline& deadline);

 private:
  enum class Attempt { kAnswered, kConnectionGone, kFailed };

  bool Connect(const Deadline& deadline, std::string& error);
  Attempt Exchange(const std::string& bytes, const Deadline& deadline, HttpResponse& response);
  void Close();

  const std::string host_;
  const std::string port_;
  int fd_ = -1;
};

}  // namespace wherefore::client
