// The HTTP server over real sockets on loopback.
#include "net/http_server.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/compression.h"
#include "net/http_client.h"
#include "net/socket_stream.h"

namespace wf::net {
namespace {

// Answers with what it saw; /slow waits for Release, /drop drops its responder, /throw throws.
class HttpServerTest : public testing::Test {
 protected:
  void Listen(HttpListenOptions options = {}) {
    Result<ListenAddress> bound = server_.Listen(
        ListenAddress{}, options, [this](HttpRequest request, HttpResponder responder) {
          Handle(std::move(request), std::move(responder));
        });
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    ASSERT_NE(bound->port, 0);
    port_ = bound->port;
  }
  ~HttpServerTest() override {
    Release();
    for (auto& thread : threads_) thread.join();
  }

  void Handle(HttpRequest request, HttpResponder responder) {
    if (request.path == "/drop") return;
    if (request.path == "/throw") throw 1;
    HttpResponse response;
    if (request.path == "/text") {
      response.headers.emplace_back("Content-Type", "text/plain");
      response.body.assign(200'000, 'y');
    } else {
      response.headers.emplace_back("X-Seen", request.method + " " + request.path);
      response.headers.emplace_back("X-Wire", std::to_string(request.wire_bytes));
      for (auto& [key, value] : request.query)
        response.headers.emplace_back("X-Query", key + "=" + value);
      response.body = std::move(request.body);
    }
    if (request.path != "/slow") return responder(std::move(response));
    std::lock_guard lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    threads_.emplace_back(
        [this, responder = std::move(responder), response = std::move(response)]() mutable {
          std::unique_lock wait(mutex_);
          changed_.wait(wait, [this] { return released_; });
          wait.unlock();
          responder(std::move(response));
        });
  }
  void Release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  void AwaitWaiting(int count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(5), [&] { return waiting_ >= count; }));
  }
  // An answer may be read before its connection is idle again.
  void AwaitIdle(size_t count) {
    for (int i = 0; i < 5000 && server_.idle_connections() != count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(server_.idle_connections(), count);
  }

  HttpClient Client(HttpClientOptions options = {}) {
    Url url;
    url.host = "127.0.0.1";
    url.port = port_;
    options.timeout = 10 * kSecond;
    return HttpClient(url, options);
  }

  // Sends bytes as they are and returns everything until the server closes.
  std::string Raw(std::string_view bytes) {
    SocketOptions options;
    options.timeout = 10 * kSecond;
    Result<SocketStream> stream = SocketStream::Connect("127.0.0.1", port_, options);
    if (!stream.ok()) return "connect: " + stream.error().message;
    (void)stream->Write(bytes).ok();
    std::string all;
    char buffer[4096];
    while (true) {
      Result<size_t> got = stream->Read(buffer, sizeof buffer);
      if (!got.ok()) return all + "<" + got.error().message + ">";
      if (*got == 0) return all;
      all.append(buffer, *got);
    }
  }

  IoThreads io_{2};
  HttpServer server_{io_};
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool released_ = false;
  std::vector<std::thread> threads_;
};

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_F(HttpServerTest, KeepsTheConnectionAndDecodesTheTarget) {
  Listen();
  HttpClient client = Client();
  for (int i = 0; i < 50; ++i) {
    auto response = client.Post("/a%20b/c+d?x=1%262&y&z=p+q", "text/plain", "hello");
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->headers.Get("x-seen"), "POST /a b/c+d");
    EXPECT_EQ(response->headers.fields()[3].second, "x=1&2");
    EXPECT_EQ(response->headers.fields()[4].second, "y=");
    EXPECT_EQ(response->headers.fields()[5].second, "z=p q");
    EXPECT_EQ(response->body, "hello");
  }
  EXPECT_EQ(server_.counters().connections.load(), 1u);
  EXPECT_EQ(server_.counters().requests.load(), 50u);
}

TEST_F(HttpServerTest, DecodesBodies) {
  Listen();
  HttpClient client = Client();
  std::string body(500'000, 'a');
  for (Compression format :
       {Compression::kIdentity, Compression::kGzip, Compression::kZstd, Compression::kDeflate}) {
    std::string packed = Compress(format, body);
    auto response = client.Post("/", "text/plain", packed,
                                {{"Content-Encoding", std::string(CompressionName(format))}});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, body);
    EXPECT_EQ(response->headers.Get("X-Wire"), std::to_string(packed.size()));
  }
  EXPECT_EQ(server_.counters().connections.load(), 1u);
}

TEST_F(HttpServerTest, ReadsChunkedBodies) {
  Listen();
  std::string answer =
      Raw("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
          "5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nTrailer: t\r\n\r\n"
          "GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("hello, world"), std::string::npos) << answer;
  EXPECT_NE(answer.find("X-Seen: GET /next"), std::string::npos) << answer;
  EXPECT_NE(Raw("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
                .find("400 Bad"),
            std::string::npos);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  Listen();
  std::string requests;
  for (int i = 0; i < 20; ++i) {
    requests +=
        "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  }
  requests += "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::string answer = Raw(requests);
  size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = answer.find("X-Seen: POST /" + std::to_string(i) + "\r\n", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_NE(answer.find("X-Seen: GET /last", at), std::string::npos);
  EXPECT_EQ(Count(answer, "HTTP/1.1 200 OK"), 21u);
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Listen();
  std::string answer = Raw("HEAD /text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 200000\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("yy"), std::string::npos);
  HttpClient client = Client();
  EXPECT_EQ(client.Send("HEAD", "/text")->status, 200);
  EXPECT_EQ(client.Get("/x")->headers.Get("X-Seen"), "GET /x");
}

TEST_F(HttpServerTest, ExpectContinue) {
  Listen();
  SocketOptions options;
  auto stream = SocketStream::Connect("127.0.0.1", port_, options);
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE(
      stream
          ->Write("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n"
                  "Connection: close\r\n\r\n")
          .ok());
  char buffer[1000];
  size_t got = *stream->Read(buffer, sizeof buffer);
  EXPECT_EQ(std::string(buffer, got), "HTTP/1.1 100 Continue\r\n\r\n");
  ASSERT_TRUE(stream->Write("ok").ok());
  got = *stream->Read(buffer, sizeof buffer);
  EXPECT_NE(std::string(buffer, got).find("200 OK"), std::string::npos);
  // One that will be refused is refused before its body is asked for.
  HttpListenOptions small;
  small.max_body_bytes = 10;
  Listen(small);
  std::string refused =
      Raw("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n"
          "01234567890");
  EXPECT_EQ(refused.find("100 Continue"), std::string::npos);
  EXPECT_NE(refused.find("413"), std::string::npos) << refused;
}

TEST_F(HttpServerTest, CompressesTextAnswers) {
  Listen();
  std::string answer = Raw(
      "GET /text HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br, gzip\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Encoding: gzip"), std::string::npos);
  EXPECT_LT(answer.size(), 3000u);
  answer = Raw(
      "GET /text HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip;q=0\r\nConnection: close\r\n\r\n");
  EXPECT_GT(answer.size(), 200'000u);
  HttpClient client = Client();
  EXPECT_EQ(client.Get("/text")->body, std::string(200'000, 'y'));
}

TEST_F(HttpServerTest, RefusesBombsAndOversizeNamingTheLimit) {
  HttpListenOptions options;
  options.max_body_bytes = 100'000;
  options.max_wire_body_bytes = 200'000;
  Listen(options);
  HttpClient client = Client();
  for (Compression format : {Compression::kGzip, Compression::kZstd}) {
    auto response = client.Post("/", "text/plain", Compress(format, std::string(10 << 20, 'x')),
                                {{"Content-Encoding", std::string(CompressionName(format))}});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 413);
    EXPECT_NE(response->body.find("limit of 100000 bytes"), std::string::npos) << response->body;
  }
  // 20 MB that the server will not read: the answer must still arrive.
  auto response = client.Post("/", "text/plain", std::string(20 << 20, 'x'));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 413);
  std::string chunked =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n40000\r\n" +
      std::string(0x40000, 'x') + "\r\n0\r\n\r\n";
  EXPECT_NE(Raw(chunked).find("413"), std::string::npos);
  EXPECT_EQ(server_.counters().too_large.load(), 4u);
  EXPECT_EQ(server_.counters().requests.load(), 0u);
}

TEST_F(HttpServerTest, OverTheBudgetAnswers429UntilAnAnswerFreesIt) {
  HttpListenOptions options;
  options.budget = std::make_shared<ByteBudget>(1000);
  Listen(options);
  auto held = std::async(std::launch::async, [&] {
    return Client().Post("/slow", "text/plain", std::string(800, 'x'));
  });
  AwaitWaiting(1);
  EXPECT_EQ(options.budget->used(), 800u);
  auto refused = Client().Post("/", "text/plain", std::string(300, 'x'));
  ASSERT_TRUE(refused.ok());
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.Get("Retry-After"), "1");
  EXPECT_EQ(Client().Post("/", "text/plain", std::string(200, 'x'))->status, 200);
  // What a body becomes by decoding counts as well.
  auto unpacked =
      Client().Post("/", "text/plain", Compress(Compression::kGzip, std::string(300, 'x')),
                    {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(unpacked->status, 429);
  Release();
  EXPECT_EQ(held.get()->status, 200);
  EXPECT_EQ(options.budget->used(), 0u);
  EXPECT_EQ(Client().Post("/", "text/plain", std::string(300, 'x'))->status, 200);
  EXPECT_EQ(server_.counters().overloaded.load(), 2u);
}

TEST_F(HttpServerTest, MalformedRequestsGetJson) {
  HttpListenOptions options;
  options.header_timeout = kSecond;
  Listen(options);
  const std::string head = " HTTP/1.1\r\nHost: x\r\n";
  struct Case {
    std::string sent;
    const char* status;
  } cases[] = {
      {"garbage\r\n\r\n", "400"},
      {std::string("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 11), "400"},
      {"GET /%zz" + head + "\r\n", "400"},
      {"GET /%00" + head + "\r\n", "400"},
      {"GET /?a=%4" + head + "\r\n", "400"},
      {"GET / HTTP/9.9\r\n\r\n", "400"},
      {"POST /" + head + "Content-Length: -1\r\n\r\n", "400"},
      {"POST /" + head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400"},
      {"POST /" + head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nabcd", "400"},
      {"POST /" + head + "Content-Length: 99999999999999999999\r\n\r\n", "400"},
      {"POST /" + head + "Content-Length: 9999999999999999999\r\n\r\n", "413"},
      {"POST /" + head + "Content-Encoding: br\r\nContent-Length: 1\r\n\r\nx", "415"},
      {"POST /" + head + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", "400"},
      {"POST /" + head + "Expect: tea\r\nContent-Length: 1\r\n\r\nx", "417"},
      {"GET /" + head + "X: " + std::string(20'000, 'x') + "\r\n\r\n", "431"},
  };
  for (const Case& c : cases) {
    std::string answer = Raw(c.sent);
    EXPECT_EQ(answer.substr(9, 3), c.status) << c.sent.substr(0, 60) << "\n" << answer;
    EXPECT_NE(answer.find("{\"error\":{\"code\":\""), std::string::npos) << answer;
    EXPECT_NE(answer.find("\"hint\":\""), std::string::npos);
  }
  EXPECT_EQ(Client().Get("/alive")->status, 200);
}

TEST_F(HttpServerTest, SlowLorisIsCutAtEveryStage) {
  HttpListenOptions options;
  options.idle_timeout = 200 * kMilli;
  options.header_timeout = 200 * kMilli;
  options.body_timeout = 200 * kMilli;
  Listen(options);
  for (const char* sent : {"", "GET / HTT", "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc",
                           "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    Nanos before = MonotonicNow();
    EXPECT_EQ(Raw(sent), "") << sent;
    EXPECT_LT(MonotonicNow() - before, 3 * kSecond);
  }
  for (int i = 0; i < 500 && server_.open_connections() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_.open_connections(), 0u);
  EXPECT_EQ(server_.counters().timeouts.load(), 3u);  // being idle is no offence
}

TEST_F(HttpServerTest, DroppedAndThrownAre500) {
  Listen();
  HttpClient client = Client();
  EXPECT_EQ(client.Get("/drop")->status, 500);
  EXPECT_EQ(client.Get("/throw")->status, 500);
  EXPECT_EQ(client.Get("/fine")->status, 200);
  EXPECT_EQ(server_.counters().connections.load(), 1u);
}

TEST_F(HttpServerTest, RefusesConnectionsOverTheLimitWhenAllAreBusy) {
  HttpListenOptions options;
  options.max_connections = 2;
  Listen(options);
  std::vector<std::future<Result<HttpClientResponse>>> busy;
  for (int i = 0; i < 2; ++i)
    busy.push_back(
        std::async(std::launch::async, [&] { return Client().Post("/slow", "text/plain", "x"); }));
  AwaitWaiting(2);
  EXPECT_FALSE(Client().Get("/").ok());
  EXPECT_EQ(server_.counters().connections_refused.load(), 1u);
  Release();
  for (auto& one : busy) EXPECT_TRUE(one.get().ok());
}

TEST_F(HttpServerTest, WhoHasBeenIdleForLongestGivesWay) {
  HttpListenOptions options;
  options.max_connections = 2;
  Listen(options);
  HttpClient a = Client();
  HttpClient b = Client();
  EXPECT_TRUE(a.Get("/").ok());
  AwaitIdle(1);
  EXPECT_TRUE(b.Get("/").ok());
  AwaitIdle(2);
  HttpClient c = Client();
  EXPECT_TRUE(c.Get("/").ok());  // in place of a
  EXPECT_TRUE(b.Get("/").ok());
  EXPECT_EQ(server_.counters().connections.load(), 3u);
  EXPECT_EQ(server_.counters().connections_cut.load(), 1u);
  EXPECT_EQ(server_.counters().connections_refused.load(), 0u);
}

TEST_F(HttpServerTest, StopLetsRequestsUnderWayFinish) {
  Listen();
  HttpClient idle = Client();
  EXPECT_TRUE(idle.Get("/").ok());
  auto held =
      std::async(std::launch::async, [&] { return Client().Post("/slow", "text/plain", "x"); });
  AwaitWaiting(1);
  auto stopped = std::async(std::launch::async, [&] { return server_.Stop(5 * kSecond); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(Client().Get("/").ok());
  Release();
  Result<HttpClientResponse> response = held.get();
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->headers.Get("Connection"), "close");
  EXPECT_EQ(stopped.get(), 0u);
}

TEST_F(HttpServerTest, StopCutsWhatExceedsItsPatienceAndLateAnswersAreHarmless) {
  Listen();
  auto held =
      std::async(std::launch::async, [&] { return Client().Post("/slow", "text/plain", "x"); });
  AwaitWaiting(1);
  EXPECT_EQ(server_.Stop(100 * kMilli), 1u);
  EXPECT_FALSE(held.get().ok());
  io_.Stop();
  Release();  // the answer comes after everything is gone
}

TEST_F(HttpServerTest, ManyConnectionsAndThreads) {
  Listen();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      HttpClient client = Client();
      for (int i = 0; i < 100; ++i) {
        std::string body(1000 * t + i, static_cast<char>('a' + t));
        auto response = client.Post("/" + std::to_string(t), "text/plain", body);
        good += response.ok() && response->status == 200 && response->body == body;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

TEST(HttpServer, AddressInUseAndOff) {
  IoThreads io(1);
  HttpServer server(io);
  auto first = server.Listen(ListenAddress{}, {}, [](HttpRequest, HttpResponder) {});
  ASSERT_TRUE(first.ok());
  auto second = server.Listen(*first, {}, [](HttpRequest, HttpResponder) {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kEnvironment);
  EXPECT_NE(second.error().message.find(ToString(*first)), std::string::npos);
  ListenAddress off;
  off.off = true;
  EXPECT_TRUE(server.Listen(off, {}, nullptr)->off);
}

TEST(HttpClient, ReconnectsWhenTheKeptConnectionWasClosed) {
  IoThreads io(1);
  auto answer = [](HttpRequest, HttpResponder responder) { responder(HttpResponse{}); };
  HttpServer server(io);
  HttpListenOptions options;
  options.idle_timeout = 50 * kMilli;
  Url url;
  url.host = "127.0.0.1";
  url.port = server.Listen(ListenAddress{}, options, answer)->port;
  HttpClient client(url);
  EXPECT_EQ(client.Get("/")->status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(client.Get("/")->status, 200);
  EXPECT_EQ(server.counters().connections.load(), 2u);
}

TEST(HttpClient, NobodyListensAndBadHeaders) {
  Url url;
  url.host = "127.0.0.1";
  url.port = 1;
  HttpClient client(url);
  auto response = client.Get("/");
  ASSERT_FALSE(response.ok());
  EXPECT_NE(response.error().message.find("127.0.0.1:1"), std::string::npos);
  EXPECT_EQ(client.Get("/", {{"A", "b\r\nC: d"}}).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(client.Get("/a b").error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace wf::net
