#include "http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "client/transport/http_connection.h"

namespace shop {
namespace {

using std::chrono::milliseconds;
using wherefore::client::Deadline;
using wherefore::client::HttpConnection;
using wherefore::client::HttpRequest;
using wherefore::client::HttpResponse;

HttpResponse Get(HttpConnection& connection, const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  return connection.Send(request, Deadline(milliseconds(10'000)));
}

std::string PortOf(int fd) {
  const std::string address = AddressOf(fd);
  return address.substr(address.rfind(':') + 1);
}

TEST(HttpServer, KeepsConnectionsAndReadsTheRequestLine) {
  const int fd = ListenOn("127.0.0.1:0");
  const std::string port = PortOf(fd);
  const HttpServer server(fd, 1, [](const Request& request) {
    return Response{201, request.method + " " + request.path + " " + request.Parameter("b") +
                             request.Parameter("missing")};
  });
  HttpConnection connection("127.0.0.1", port);
  for (int i = 0; i < 3; ++i) {
    const HttpResponse response = Get(connection, "/path?a=1&b=two&c");
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.message.body, "GET /path two");
  }
  EXPECT_EQ(Get(connection, "/ready").status, 200);
}

TEST(HttpServer, OneWorkerTakesRequestsInOrderOfArrival) {
  const int fd = ListenOn("127.0.0.1:0");
  const std::string port = PortOf(fd);
  std::atomic<bool> open{false};
  std::vector<std::pair<int64_t, int64_t>> served;  // (arrival, start), written by the one worker
  {
    const HttpServer server(fd, 1, [&](const Request& request) {
      served.emplace_back(request.arrival_ns, NowNs());
      while (!open) std::this_thread::sleep_for(milliseconds(1));
      return Response{};
    });
    std::vector<std::thread> clients;
    clients.reserve(20);
    for (int i = 0; i < 20; ++i) {
      clients.emplace_back([&] {
        HttpConnection connection("127.0.0.1", port);
        EXPECT_EQ(Get(connection, "/work").status, 200);
      });
    }
    HttpConnection probe("127.0.0.1", port);
    EXPECT_EQ(Get(probe, "/ready").status, 200) << "readiness does not wait in line";
    std::this_thread::sleep_for(milliseconds(100));
    open = true;
    for (std::thread& client : clients) client.join();
  }
  ASSERT_EQ(served.size(), 20u);
  for (size_t i = 1; i < served.size(); ++i) {
    EXPECT_GE(served[i].first, served[i - 1].first);
    EXPECT_GE(served[i].second, served[i - 1].second);
    EXPECT_GE(served[i].second, served[i].first) << "nothing starts before it arrives";
  }
  EXPECT_GT(served.back().second - served.back().first, 50'000'000) << "the last one waited";
}

TEST(HttpServer, StopsWhileRequestsWait) {
  const int fd = ListenOn("127.0.0.1:0");
  const std::string port = PortOf(fd);
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  {
    std::atomic<int> started{0};
    const HttpServer server(fd, 1, [&](const Request&) {
      ++started;
      std::this_thread::sleep_for(milliseconds(100));
      return Response{};
    });
    for (int i = 0; i < 5; ++i) {
      clients.emplace_back([&] {
        HttpConnection connection("127.0.0.1", port);
        if (Get(connection, "/slow").status == 200) ++answered;
      });
    }
    while (started == 0) std::this_thread::sleep_for(milliseconds(1));
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GE(answered, 1) << "what a worker held was finished";
  EXPECT_LT(answered, 5) << "what stood in line was not waited for";
}

TEST(HttpServer, GarbageIsDisconnected) {
  const int fd = ListenOn("127.0.0.1:0");
  const std::string port = PortOf(fd);
  const HttpServer server(fd, 1, [](const Request&) { return Response{}; });
  HttpConnection connection("127.0.0.1", port);
  EXPECT_EQ(Get(connection, "no-slash").status, 0);
  EXPECT_EQ(Get(connection, "/fine").status, 200) << "and others are served";
}

}  // namespace
}  // namespace shop
