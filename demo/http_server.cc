#include "http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

namespace shop {

using wherefore::client::HttpKind;
using wherefore::client::HttpMessage;
using wherefore::client::StreamState;
using wherefore::client::TakeHttpMessage;
using wherefore::client::TakeResult;

namespace {

// "GET /search?q=tea HTTP/1.1"
bool ParseRequestLine(const HttpMessage& message, Request& request) {
  const std::string& line = message.start_line;
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string::npos || last <= first + 1 || line[first + 1] != '/') return false;
  request.method = line.substr(0, first);
  const std::string target = line.substr(first + 1, last - first - 1);
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  return true;
}

}  // namespace

int64_t NowNs() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

std::string Request::Parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
      return std::string(pair.substr(equals + 1));
    }
  }
  return {};
}

int ListenOn(const std::string& host_port) {
  const size_t colon = host_port.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::string host = colon == std::string::npos ? "127.0.0.1" : host_port.substr(0, colon);
  const std::string port = colon == std::string::npos ? host_port : host_port.substr(colon + 1);
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port.c_str())));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
  }
  return fd;
}

std::string AddressOf(int listen_fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(listen_fd, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

HttpServer::HttpServer(int listen_fd, int workers, Handler handler)
    : listen_fd_(listen_fd),
      epoll_fd_(epoll_create1(EPOLL_CLOEXEC)),
      stop_fd_(eventfd(0, EFD_CLOEXEC)),
      handler_(std::move(handler)) {
  for (int fd : {listen_fd_, stop_fd_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
  }
  for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { Work(); });
  reader_ = std::thread([this] { ReadRequests(); });
}

HttpServer::~HttpServer() {
  const uint64_t one = 1;
  if (write(stop_fd_, &one, sizeof one) != sizeof one) std::abort();
  reader_.join();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  for (const auto& [fd, connection] : connections_) close(fd);
  close(listen_fd_);
  close(stop_fd_);
  close(epoll_fd_);
}

void HttpServer::ReadRequests() {
  while (true) {
    epoll_event events[64];
    const int ready = epoll_wait(epoll_fd_, events, 64, -1);
    // A worker gives its connection back while it holds the mutex: whatever it did to it is done now.
    { const std::lock_guard handed_back(mutex_); }
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_fd_) return;
      if (fd == listen_fd_) {
        AcceptAll();
      } else if (const auto found = connections_.find(fd); found != connections_.end()) {
        ReadFrom(*found->second);
      }
    }
  }
}

void HttpServer::AcceptAll() {
  while (true) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{5, 0};  // for a client that does not read its answer
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    auto connection = std::make_unique<Connection>();
    connection->fd = fd;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = fd;
    epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event);
    connections_[fd] = std::move(connection);
  }
}

void HttpServer::ReadFrom(Connection& connection) {
  char chunk[16384];
  const ssize_t n = recv(connection.fd, chunk, sizeof chunk, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return WatchAgain(connection);
  if (n <= 0) return Disconnect(connection);
  connection.buffer.append(chunk, static_cast<size_t>(n));
  Request request;
  switch (
      TakeHttpMessage(HttpKind::kRequest, StreamState::kOpen, connection.buffer, request.message)) {
    case TakeResult::kNeedsMore:
      return WatchAgain(connection);
    case TakeResult::kMalformed:
      return Disconnect(connection);
    case TakeResult::kTaken:
      break;
  }
  if (!ParseRequestLine(request.message, request)) return Disconnect(connection);
  if (request.path == "/ready") return Answer(connection, {});
  request.arrival_ns = NowNs();
  {
    const std::lock_guard lock(mutex_);
    line_.push_back({&connection, std::move(request)});
  }
  arrived_.notify_one();
}

void HttpServer::Disconnect(Connection& connection) {
  const int fd = connection.fd;
  connections_.erase(fd);
  close(fd);
}

void HttpServer::Work() {
  while (true) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return stopping_ || !line_.empty(); });
    if (stopping_) return;
    Waiting next = std::move(line_.front());
    line_.pop_front();
    lock.unlock();
    Answer(*next.connection, handler_(next.request));
  }
}

void HttpServer::Answer(Connection& connection, const Response& response) {
  const std::string bytes =
      "HTTP/1.1 " + std::to_string(response.status) + (response.status < 400 ? " OK" : " Failed") +
      "\r\nContent-Length: " + std::to_string(response.body.size()) + "\r\n\r\n" + response.body;
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(connection.fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    sent += static_cast<size_t>(n);
  }
  // The reader then sees the end of the connection and erases it.
  if (sent < bytes.size() || !connection.buffer.empty()) shutdown(connection.fd, SHUT_RDWR);
  WatchAgain(connection);
}

void HttpServer::WatchAgain(Connection& connection) {
  const std::lock_guard hand_back(mutex_);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.fd = connection.fd;
  epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, connection.fd, &event);
}

}  // namespace shop
