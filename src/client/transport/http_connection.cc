#include "client/transport/http_connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace wherefore::client {
namespace {

std::string ErrnoText(int number) {
  char text[128];
  return strerror_r(number, text, sizeof text);  // GNU's: thread-safe, returns the text
}

// Waits until `fd` is ready for `events`; false when the deadline passes.
bool WaitReady(int fd, short events, const Deadline& deadline) {
  while (!deadline.passed()) {
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, deadline.PollTimeoutMs());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the following call reports what is wrong
  }
  return false;
}

std::string Serialize(const HttpRequest& request, const std::string& host,
                      const std::string& port) {
  std::string bytes;
  bytes.reserve(512 + request.body.size());
  bytes.append(request.method).append(" ").append(request.path).append(" HTTP/1.1\r\nHost: ");
  const bool bracket = host.find(':') != std::string::npos;
  bytes.append(bracket ? "[" : "").append(host).append(bracket ? "]:" : ":").append(port);
  bytes.append("\r\n");
  for (const auto& [name, value] : request.headers) {
    bytes.append(name).append(": ").append(value).append("\r\n");
  }
  bytes.append("Content-Length: ").append(std::to_string(request.body.size()));
  bytes.append("\r\n\r\n").append(request.body);
  return bytes;
}

}  // namespace

std::optional<HttpUrl> HttpUrl::Parse(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.substr(0, kScheme.size()) != kScheme) return std::nullopt;
  text.remove_prefix(kScheme.size());
  HttpUrl url;
  const size_t slash = text.find('/');
  url.path = slash == std::string_view::npos ? "/" : std::string(text.substr(slash));
  std::string_view authority = text.substr(0, slash);
  if (authority.substr(0, 1) == "[") {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    url.host = std::string(authority.substr(1, close - 1));
    authority.remove_prefix(close + 1);
    if (!authority.empty() && authority[0] != ':') return std::nullopt;
  } else {
    url.host = std::string(authority.substr(0, authority.find(':')));
    authority.remove_prefix(url.host.size());
  }
  url.port = authority.empty() ? "80" : std::string(authority.substr(1));
  const bool digits = url.port.find_first_not_of("0123456789") == std::string::npos;
  if (url.host.empty() || url.port.empty() || url.port.size() > 5 || !digits) return std::nullopt;
  if (std::atoi(url.port.c_str()) > 65535) return std::nullopt;
  for (char c : url.host + url.path) {
    if (c <= ' ' || c == 0x7F) return std::nullopt;  // would break the request line
  }
  return url;
}

HttpConnection::HttpConnection(std::string host, std::string port)
    : host_(std::move(host)), port_(std::move(port)) {}

HttpConnection::~HttpConnection() { Close(); }

void HttpConnection::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

bool HttpConnection::Connect(const Deadline& deadline, std::string& error) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found);
  if (code != 0) {
    error = host_ + ": " + gai_strerror(code);
    return false;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  error = host_ + ":" + port_ + ": no address";
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const int fd =
        socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = "socket: " + ErrnoText(errno);
      continue;
    }
    int failure = 0;
    if (connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
      failure = errno;
      if (failure == EINPROGRESS) {
        socklen_t size = sizeof failure;
        if (!WaitReady(fd, POLLOUT, deadline)) {
          failure = ETIMEDOUT;
        } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
          failure = errno;
        }
      }
    }
    if (failure == 0) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      fd_ = fd;
      return true;
    }
    close(fd);
    error = host_ + ":" + port_ + ": " + ErrnoText(failure);
  }
  return false;
}

HttpConnection::Attempt HttpConnection::Exchange(const std::string& bytes, const Deadline& deadline,
                                                 HttpResponse& response) {
  const std::string peer = host_ + ":" + port_;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      if (!WaitReady(fd_, POLLOUT, deadline)) {
        response.error = peer + ": timed out while sending";
        return Attempt::kFailed;
      }
    } else if (errno != EINTR) {
      response.error = peer + ": " + ErrnoText(errno);
      // A server may answer and close before it has read the whole body: look for that answer.
      if (errno != EPIPE && errno != ECONNRESET) return Attempt::kFailed;
      break;
    }
  }
  std::string buffer;
  StreamState stream = StreamState::kOpen;
  while (true) {
    char chunk[4096];
    const ssize_t n = recv(fd_, chunk, sizeof chunk, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      if (WaitReady(fd_, POLLIN, deadline)) continue;
      response.error = peer + ": timed out waiting for the answer";
      return Attempt::kFailed;
    }
    if (n < 0) response.error = peer + ": " + ErrnoText(errno);
    if (n <= 0) stream = StreamState::kEnded;
    if (n > 0) buffer.append(chunk, static_cast<size_t>(n));
    if (stream == StreamState::kEnded && buffer.empty()) {
      if (response.error.empty()) response.error = peer + ": connection closed without an answer";
      return Attempt::kConnectionGone;
    }
    switch (TakeHttpMessage(HttpKind::kResponse, stream, buffer, response.message)) {
      case TakeResult::kNeedsMore:
        break;
      case TakeResult::kMalformed:
        response.error = peer + ": malformed answer";
        return Attempt::kFailed;
      case TakeResult::kTaken:
        response.error.clear();
        // TakeHttpMessage has checked that there is a status of three digits.
        response.status =
            std::atoi(response.message.start_line.c_str() + response.message.start_line.find(' '));
        if (stream == StreamState::kEnded || sent < bytes.size() || !buffer.empty() ||
            !response.message.KeepsAlive()) {
          Close();
        }
        return Attempt::kAnswered;
    }
  }
}

HttpResponse HttpConnection::Send(const HttpRequest& request, const Deadline& deadline) {
  const std::string bytes = Serialize(request, host_, port_);
  while (true) {
    HttpResponse response;
    const bool kept = fd_ >= 0;
    if (!kept && !Connect(deadline, response.error)) return response;
    const Attempt attempt = Exchange(bytes, deadline, response);
    if (attempt == Attempt::kAnswered) return response;
    Close();
    if (attempt == Attempt::kConnectionGone && kept) continue;
    return response;
  }
}

}  // namespace wherefore::client
