// Answers without an end, over real sockets on loopback.
#include "net/http_body_stream.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/socket_stream.h"

namespace wf::net {
namespace {

class HttpBodyStreamTest : public testing::Test {
 protected:
  HttpBodyStreamTest() {
    const auto bound =
        server_.Listen(ListenAddress{}, {}, [this](HttpRequest request, HttpResponder responder) {
          if (request.path == "/none") return responder({404, {}, "no such stream"});
          HttpResponse response{200, {{"Content-Type", "text/event-stream"}}, ""};
          response.stream = stream_;
          responder(std::move(response));
        });
    url_.host = "127.0.0.1";
    url_.port = bound->port;
  }
  HttpClient Client() {
    HttpClientOptions options;
    options.accept_gzip = false;
    return HttpClient(url_, options);
  }

  std::shared_ptr<HttpBodyStream> stream_ =
      std::make_shared<HttpBodyStream>(HttpBodyStreamOptions{1 << 20, kMinute});
  IoThreads io_{2};
  HttpServer server_{io_};
  Url url_;
};

using Written = HttpBodyStream::Written;

TEST_F(HttpBodyStreamTest, PiecesArriveAsTheyAreWritten) {
  ASSERT_EQ(stream_->Write("before;"), Written::kTaken);
  std::string got;
  int pieces = 0;
  const auto answer = Client().Stream("/", {}, 10 * kMilli, [&](std::string_view piece) {
    got += piece;
    // Each is written only when the one before has arrived.
    if (got == "before;" && pieces == 0) {
      ++pieces;
      EXPECT_EQ(stream_->Write("first;"), Written::kTaken);
    } else if (got == "before;first;" && pieces == 1) {
      ++pieces;
      EXPECT_EQ(stream_->Write(std::string(100'000, 'x')), Written::kTaken);
      stream_->End();
    }
    return true;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(got, "before;first;" + std::string(100'000, 'x'));
  EXPECT_EQ(stream_->Write("late"), Written::kGone);
}

TEST_F(HttpBodyStreamTest, OtherStatusComesWithItsBody) {
  const auto answer = Client().Stream("/none", {}, kSecond, [](std::string_view) { return true; });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "no such stream");
}

TEST_F(HttpBodyStreamTest, AClientThatLeavesIsNoticedWithoutAWrite) {
  std::promise<void> gone;
  stream_->OnGone([&] { gone.set_value(); });
  ASSERT_EQ(stream_->Write("hello"), Written::kTaken);
  const auto answer = Client().Stream("/", {}, kSecond, [](std::string_view) { return false; });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_TRUE(stream_->gone());
  EXPECT_EQ(stream_->Write("late"), Written::kGone);
  bool told = false;
  stream_->OnGone([&] { told = true; });
  EXPECT_TRUE(told) << "told at once when it has gone already";
}

TEST_F(HttpBodyStreamTest, WhatAClientDoesNotReadIsBounded) {
  auto socket = SocketStream::Connect(url_.host, url_.port, {});
  ASSERT_TRUE(socket.ok());
  ASSERT_TRUE(socket->Write("GET / HTTP/1.1\r\nHost: x\r\n\r\n").ok());
  Written written = Written::kTaken;
  size_t taken = 0;
  // The system's buffers take some megabytes; then the stream's own limit is met.
  for (int i = 0; i < 10'000 && written == Written::kTaken; ++i) {
    written = stream_->Write(std::string(64 << 10, 'z'));
    taken += written == Written::kTaken;
  }
  EXPECT_EQ(written, Written::kFull);
  EXPECT_GT(taken, 10u);
}

TEST_F(HttpBodyStreamTest, StopCutsAStreamThatNobodyEnds) {
  ASSERT_EQ(stream_->Write("hello"), Written::kTaken);
  std::promise<void> begun;
  auto reader = std::async(std::launch::async, [&] {
    bool first = true;
    return Client().Stream("/", {}, 50 * kMilli, [&](std::string_view piece) {
      if (!piece.empty() && std::exchange(first, false)) begun.set_value();
      return true;
    });
  });
  begun.get_future().wait();
  EXPECT_EQ(server_.Stop(0), 1u);
  EXPECT_FALSE(reader.get().ok()) << "an answer cut in the middle is told from one that ended";
  EXPECT_TRUE(stream_->gone());
}

TEST_F(HttpBodyStreamTest, StopWaitsForAStreamThatEnds) {
  ASSERT_EQ(stream_->Write("hello"), Written::kTaken);
  std::promise<void> begun;
  auto reader = std::async(std::launch::async, [&] {
    bool first = true;
    return Client().Stream("/", {}, 50 * kMilli, [&](std::string_view piece) {
      if (!piece.empty() && std::exchange(first, false)) begun.set_value();
      return true;
    });
  });
  begun.get_future().wait();
  stream_->End();
  EXPECT_EQ(server_.Stop(20 * kSecond), 0u);
  EXPECT_TRUE(reader.get().ok());
}

TEST_F(HttpBodyStreamTest, HeadHasNoBodyAndOldClientsGetItPlain) {
  ASSERT_EQ(stream_->Write("hello"), Written::kTaken);
  stream_->End();
  auto socket = SocketStream::Connect(url_.host, url_.port, {});
  ASSERT_TRUE(socket->Write("GET / HTTP/1.0\r\nHost: x\r\n\r\n").ok());
  std::string all;
  char buffer[4096];
  for (size_t got; (got = *socket->Read(buffer, sizeof buffer)) > 0;) all.append(buffer, got);
  EXPECT_EQ(all.find("chunked"), std::string::npos);
  EXPECT_EQ(all.substr(all.find("\r\n\r\n") + 4), "hello");

  stream_ = std::make_shared<HttpBodyStream>();
  const auto head = Client().Send("HEAD", "/");
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->body, "");
}

}  // namespace
}  // namespace wf::net
