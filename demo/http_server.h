// A small HTTP/1.1 server: one thread reads requests off all connections and puts them in line,
// workers take them in order of arrival. The line is the point of it: with one worker this is the
// FIFO "node" of Zeno, and a request knows when it arrived, however long it then waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "client/transport/http_message.h"

namespace shop {

struct Request {
  std::string method;
  std::string path;        // without the query
  std::string query;       // what follows "?"
  int64_t arrival_ns = 0;  // Unix ns when it was complete and joined the line
  wherefore::client::HttpMessage message;

  std::string Parameter(std::string_view name) const;  // of the query; empty if absent
};

struct Response {
  int status = 200;
  std::string body;
};

// Thread-safe handler required when there are several workers. `GET /ready` is answered by the
// server itself, past the line. Clients that pipeline are disconnected.
class HttpServer {
 public:
  using Handler = std::function<Response(const Request&)>;

  // Takes over a listening socket and starts the threads.
  HttpServer(int listen_fd, int workers, Handler handler);
  ~HttpServer();  // finishes what workers hold, disconnects what is still in line
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct Connection {
    int fd = -1;
    std::string buffer;
  };
  struct Waiting {
    Connection* connection;
    Request request;
  };

  void ReadRequests();
  void AcceptAll();
  void ReadFrom(Connection& connection);
  void Disconnect(Connection& connection);
  void Work();
  void Answer(Connection& connection, const Response& response);
  void WatchAgain(Connection& connection);

  const int listen_fd_;
  const int epoll_fd_;
  const int stop_fd_;
  const Handler handler_;

  // Each connection is watched by the reader or held by one worker, never both (EPOLLONESHOT); it changes hands under
  // the mutex. Only the reader erases.
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Waiting> line_;
  bool stopping_ = false;

  std::thread reader_;
  std::vector<std::thread> workers_;
};

// Opens a listening TCP socket on "HOST:PORT" (port 0: a free one); -1 and errno on failure.
int ListenOn(const std::string& host_port);
// "127.0.0.1:41234"
std::string AddressOf(int listen_fd);
int64_t NowNs();

}  // namespace shop
