#include "client/transport/http_message.h"

#include <gtest/gtest.h>

#include <string>

#include "client/transport/http_connection.h"

namespace wherefore::client {
namespace {

TakeResult TakeResponse(std::string text, StreamState stream, HttpMessage& message) {
  return TakeHttpMessage(HttpKind::kResponse, stream, text, message);
}

TEST(HttpMessage, IsTheSameHoweverItIsCut) {
  const std::string whole =
      "HTTP/1.1 200 OK\r\nX-One: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;ext=1\r\nwher\r\n5\r\nefore\r\n0\r\nTrailer: t\r\n\r\n";
  HttpMessage message;
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(TakeResponse(whole.substr(0, length), StreamState::kOpen, message),
              TakeResult::kNeedsMore);
    EXPECT_EQ(TakeResponse(whole.substr(0, length), StreamState::kEnded, message),
              TakeResult::kMalformed)
        << "the peer ended in the middle, at " << length;
  }
  std::string buffer = whole + "HTTP/1.1 204 No Content\r\n\r\nleft";
  ASSERT_EQ(TakeHttpMessage(HttpKind::kResponse, StreamState::kOpen, buffer, message),
            TakeResult::kTaken);
  EXPECT_EQ(message.body, "wherefore");
  EXPECT_EQ(message.Header("x-one"), "a");
  ASSERT_EQ(TakeHttpMessage(HttpKind::kResponse, StreamState::kOpen, buffer, message),
            TakeResult::kTaken);
  EXPECT_EQ(message.start_line, "HTTP/1.1 204 No Content");
  EXPECT_EQ(buffer, "left");
}

TEST(HttpMessage, BodyUpToTheEndOfTheConnection) {
  HttpMessage message;
  EXPECT_EQ(TakeResponse("HTTP/1.0 200 OK\r\n\r\nabc", StreamState::kOpen, message),
            TakeResult::kNeedsMore);
  EXPECT_EQ(TakeResponse("HTTP/1.0 200 OK\r\n\r\nabc", StreamState::kEnded, message),
            TakeResult::kTaken);
  EXPECT_EQ(message.body, "abc");
}

TEST(HttpMessage, InterimAnswersAreSkipped) {
  HttpMessage message;
  ASSERT_EQ(TakeResponse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: "
                         "2\r\n\r\nhi",
                         StreamState::kOpen, message),
            TakeResult::kTaken);
  EXPECT_EQ(message.start_line, "HTTP/1.1 429 Slow");
  EXPECT_EQ(message.body, "hi");
}

TEST(HttpMessage, HostileInputIsMalformed) {
  const std::string hostile[] = {
      "garbage\r\n\r\n",
      "\r\n\r\n",
      "HTTP/1.1 xyz\r\n\r\n",
      "HTTP/1.1 999 Odd\r\n\r\n",
      "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n",
      std::string(20000, 'h'),
  };
  for (const std::string& text : hostile) {
    HttpMessage message;
    EXPECT_EQ(TakeResponse(text, StreamState::kOpen, message), TakeResult::kMalformed)
        << text.substr(0, 80);
  }
}

TEST(HttpUrl, Parts) {
  const auto url = HttpUrl::Parse("http://collector:4318/v1/traces");
  ASSERT_TRUE(url.has_value());
  EXPECT_EQ(url->host, "collector");
  EXPECT_EQ(url->port, "4318");
  EXPECT_EQ(url->path, "/v1/traces");
  EXPECT_EQ(HttpUrl::Parse("http://[::1]:99")->host, "::1");
  EXPECT_EQ(HttpUrl::Parse("http://h")->port, "80");
  for (const char* bad :
       {"", "https://h:1", "h:1", "http://", "http://:80", "http://h:", "http://h:x",
        "http://h:70000", "http://[::1", "http://h/a b", "http://h/\r\nX: y"}) {
    EXPECT_FALSE(HttpUrl::Parse(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace wherefore::client
