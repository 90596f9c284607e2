// The gRPC server over real sockets on loopback, with our own client and with hostile bytes.
#include "net/grpc_server.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "net/compression.h"
#include "net/grpc_client.h"
#include "net/http_client.h"
#include "net/socket_stream.h"

namespace wf::net {
namespace {

class GrpcServerTest : public testing::Test {
 protected:
  void Listen(GrpcListenOptions options = {}) {
    GrpcMethods methods;
    methods["/t.T/Echo"] = [](GrpcRequest request, GrpcResponder responder) {
      GrpcReply reply;
      reply.reply = std::move(request.message);
      responder(std::move(reply));
    };
    methods["/t.T/Describe"] = [](GrpcRequest request, GrpcResponder responder) {
      GrpcReply reply;
      reply.reply = request.path + " " + std::string(request.metadata.Get("x-tenant")) + " " +
                    std::to_string(request.wire_bytes) + " " +
                    std::to_string(request.message.size());
      responder(std::move(reply));
    };
    methods["/t.T/Busy"] = [](GrpcRequest, GrpcResponder responder) {
      GrpcReply reply;
      reply.code = kGrpcUnavailable;
      reply.message = "100% busy \xe2\x80\xa6";
      reply.retry_delay = 1500 * kMilli;
      responder(std::move(reply));
    };
    methods["/t.T/Drop"] = [](GrpcRequest, GrpcResponder) {};
    methods["/t.T/Throw"] = [](GrpcRequest, GrpcResponder) { throw 1; };
    methods["/t.T/Slow"] = [this](GrpcRequest request, GrpcResponder responder) {
      std::lock_guard lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      threads_.emplace_back(
          [this, message = std::move(request.message), responder = std::move(responder)]() mutable {
            std::unique_lock wait(mutex_);
            changed_.wait(wait, [this] { return released_; });
            wait.unlock();
            GrpcReply reply;
            reply.reply = std::move(message);
            responder(std::move(reply));
          });
    };
    Result<ListenAddress> bound = server_.Listen(ListenAddress{}, options, std::move(methods));
    ASSERT_TRUE(bound.ok()) << bound.error().message;
    port_ = bound->port;
  }
  ~GrpcServerTest() override {
    Release();
    for (auto& thread : threads_) thread.join();
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
  GrpcClient Client() {
    GrpcClientOptions options;
    options.timeout = 10 * kSecond;
    Result<GrpcClient> client = GrpcClient::Connect("127.0.0.1", port_, options);
    EXPECT_TRUE(client.ok()) << client.error().message;
    return std::move(client).value();
  }
  Result<SocketStream> Socket() {
    SocketOptions options;
    options.timeout = 5 * kSecond;
    return SocketStream::Connect("127.0.0.1", port_, options);
  }
  // Sends bytes as they are and returns everything until the server closes; "timed out" in it means
  // it did not.
  std::string Raw(std::string_view bytes) {
    Result<SocketStream> stream = Socket();
    if (!stream.ok()) return stream.error().message;
    (void)stream->Write(bytes).ok();
    stream->ShutdownWrite();
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
  GrpcServer server_{io_};
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool released_ = false;
  std::vector<std::thread> threads_;
};

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const std::string kEmptySettings("\0\0\0\4\0\0\0\0\0", 9);

TEST_F(GrpcServerTest, EchoesEverySizeAndEncoding) {
  Listen();
  GrpcClient client = Client();
  std::mt19937 random(1);
  for (size_t size : {0, 1, 100, 16'384, 160'000, 5'000'000}) {
    std::string message(size, '\0');
    for (char& c : message) c = static_cast<char>(random() % 64);
    for (Compression encoding :
         {Compression::kIdentity, Compression::kGzip, Compression::kZstd, Compression::kDeflate}) {
      GrpcCallOptions options;
      options.encoding = encoding;
      auto answer = client.Call("/t.T/Echo", message, options);
      ASSERT_TRUE(answer.ok()) << answer.error().message;
      EXPECT_EQ(answer->code, kGrpcOk) << answer->message;
      EXPECT_TRUE(answer->reply == message) << size << CompressionName(encoding);
    }
  }
  EXPECT_EQ(server_.counters().connections.load(), 1u);
  EXPECT_EQ(server_.counters().requests.load(), 24u);
}

TEST_F(GrpcServerTest, GivesPathMetadataAndSizes) {
  Listen();
  GrpcClient client = Client();
  GrpcCallOptions options;
  options.encoding = Compression::kGzip;
  options.metadata = {{"x-tenant", "blue"}, {"grpc-timeout", "5S"}};
  std::string message(10'000, 'x');
  std::string packed = Compress(Compression::kGzip, message);
  EXPECT_EQ(client.Call("/t.T/Describe", message, options)->reply,
            "/t.T/Describe blue " + std::to_string(packed.size()) + " 10000");
}

TEST_F(GrpcServerTest, CarriesStatusTextAndRetryDelay) {
  Listen();
  auto answer = Client().Call("/t.T/Busy", "x");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->code, kGrpcUnavailable);
  EXPECT_EQ(answer->message, "100% busy \xe2\x80\xa6");
  EXPECT_EQ(answer->retry_delay, 1500 * kMilli);
}

TEST_F(GrpcServerTest, UnknownMethodsAndDroppedCalls) {
  Listen();
  GrpcClient client = Client();
  EXPECT_EQ(client.Call("/t.T/Nope", "x")->code, kGrpcUnimplemented);
  EXPECT_EQ(client.Call("/t.T/Nope", std::string(3'000'000, 'x'))->code, kGrpcUnimplemented);
  EXPECT_EQ(client.Call("/t.T/Drop", "x")->code, kGrpcInternal);
  EXPECT_EQ(client.Call("/t.T/Throw", "x")->code, kGrpcInternal);
  EXPECT_EQ(client.Call("/t.T/Echo", "x")->reply, "x");
  EXPECT_EQ(server_.counters().unimplemented.load(), 2u);
}

TEST_F(GrpcServerTest, RefusesOversizeAndBombs) {
  GrpcListenOptions options;
  options.max_message_bytes = 100'000;
  Listen(options);
  GrpcClient client = Client();
  auto answer = client.Call("/t.T/Echo", std::string(100'001, 'x'));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->code, kGrpcResourceExhausted);
  EXPECT_NE(answer->message.find("limit of 100000"), std::string::npos) << answer->message;
  for (Compression encoding : {Compression::kGzip, Compression::kZstd}) {
    GrpcCallOptions call;
    call.encoding = encoding;
    answer = client.Call("/t.T/Echo", std::string(10 << 20, 'x'), call);
    EXPECT_EQ(answer->code, kGrpcResourceExhausted);
    EXPECT_NE(answer->message.find("limit of 100000"), std::string::npos) << answer->message;
  }
  EXPECT_EQ(client.Call("/t.T/Echo", std::string(100'000, 'x'))->code, kGrpcOk);
  EXPECT_EQ(server_.counters().too_large.load(), 3u);
}

TEST_F(GrpcServerTest, ManyConcurrentStreamsAnsweredOutOfOrder) {
  Listen();
  GrpcClient client = Client();
  std::vector<int32_t> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(*client.Start("/t.T/Slow", std::string(1000 + i, 's')));
  }
  AwaitWaiting(100);
  // The others wait in their handlers; a later call passes them.
  EXPECT_EQ(client.Call("/t.T/Echo", "quick")->reply, "quick");
  Release();
  for (int i = 99; i >= 0; --i) {
    auto answer = client.Wait(slow[i]);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    EXPECT_EQ(answer->reply, std::string(1000 + i, 's'));
  }
}

TEST_F(GrpcServerTest, MoreStreamsThanAllowedWaitTheirTurn) {
  GrpcListenOptions options;
  options.max_concurrent_streams = 4;
  Listen(options);
  GrpcClient client = Client();
  std::vector<int32_t> calls;
  for (int i = 0; i < 50; ++i)
    calls.push_back(*client.Start("/t.T/Echo", std::string(50'000, 'x')));
  for (int32_t call : calls) EXPECT_EQ(client.Wait(call)->reply.size(), 50'000u);
}

TEST_F(GrpcServerTest, ManyConnectionsAndThreads) {
  Listen();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      GrpcClient client = Client();
      for (int i = 0; i < 50; ++i) {
        std::string message(20'000 * t + i, static_cast<char>('a' + t));
        auto answer = client.Call("/t.T/Echo", message);
        good += answer.ok() && answer->code == kGrpcOk && answer->reply == message;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
}

TEST_F(GrpcServerTest, OverTheBudgetIsUnavailableWithADelay) {
  GrpcListenOptions options;
  options.budget = std::make_shared<ByteBudget>(1000);
  options.retry_delay = 2 * kSecond;
  Listen(options);
  GrpcClient client = Client();
  int32_t held = *client.Start("/t.T/Slow", std::string(800, 'x'));
  AwaitWaiting(1);
  auto refused = client.Call("/t.T/Echo", std::string(300, 'x'));
  EXPECT_EQ(refused->code, kGrpcUnavailable);
  EXPECT_EQ(refused->retry_delay, 2 * kSecond);
  EXPECT_EQ(client.Call("/t.T/Echo", std::string(200, 'x'))->code, kGrpcOk);
  Release();
  EXPECT_EQ(client.Wait(held)->code, kGrpcOk);
  EXPECT_EQ(options.budget->used(), 0u);
}

TEST_F(GrpcServerTest, AClientThatLeavesDoesNotFreeWhatItsMessageHolds) {
  GrpcListenOptions options;
  options.budget = std::make_shared<ByteBudget>(1000);
  Listen(options);
  {
    GrpcClient client = Client();
    ASSERT_TRUE(client.Start("/t.T/Slow", std::string(800, 'x')).ok());
    AwaitWaiting(1);
  }
  EXPECT_EQ(Client().Call("/t.T/Echo", std::string(300, 'x'))->code, kGrpcUnavailable);
  Release();
  for (int i = 0; i < 500 && options.budget->used() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(options.budget->used(), 0u);
}

TEST_F(GrpcServerTest, BadFramingIsInternal) {
  Listen();
  GrpcClient client = Client();
  GrpcCallOptions options;
  options.metadata = {{"grpc-encoding", "snappy"}};
  EXPECT_EQ(client.Call("/t.T/Echo", "x", options)->code, kGrpcUnimplemented);
  options.metadata = {{"grpc-encoding", "gzip"}};
  EXPECT_EQ(client.Call("/t.T/Echo", "x", options)->code, kGrpcOk);  // flag 0: sent plain
  EXPECT_EQ(client.Call("/t.T/Echo", "still alive")->reply, "still alive");
}

TEST_F(GrpcServerTest, HttpOneGetsAnAnswerItUnderstands) {
  Listen();
  std::string answer = Raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400") << answer;
  EXPECT_NE(answer.find("{\"error\":{\"code\":\"not_grpc\""), std::string::npos);
  Url url;
  url.host = "127.0.0.1";
  url.port = port_;
  EXPECT_EQ(HttpClient(url).Post("/v1/traces", "application/x-protobuf", "abc")->status, 400);
}

TEST_F(GrpcServerTest, GarbageNeverKillsTheServer) {
  Listen();
  Raw("");
  Raw("\x16\x03\x01\x02\x01");
  Raw("PRI * HTTP/2.0\r\n");
  Raw(kPreface);
  Raw(kPreface + kEmptySettings + "GARBAGE GARBAGE GARBAGE GARBAGE GARBAGE");
  Raw(kPreface + kEmptySettings + std::string("\xff\xff\xff\0\0\0\0\0\1", 9) +
      std::string(70'000, 'x'));
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = kPreface + kEmptySettings;
    for (int frame = 0; frame < 20; ++frame) {
      size_t size = random() % 64;
      bytes += std::string("\0\0", 2);
      bytes.push_back(static_cast<char>(size));
      bytes.push_back(static_cast<char>(random() % 11));                     // type
      bytes.push_back(static_cast<char>(random() % 4 ? random() % 48 : 5));  // flags
      bytes += std::string("\0\0\0", 3);
      bytes.push_back(static_cast<char>(random() % 8));  // stream
      for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(random()));
    }
    std::string answer = Raw(bytes);
    EXPECT_EQ(answer.find("timed out"), std::string::npos);
  }
  EXPECT_EQ(Client().Call("/t.T/Echo", "alive")->reply, "alive");
}

// HEADERS by hand, so that what follows them can be wrong.
std::string Head(std::string_view path, uint32_t stream) {
  auto literal = [](std::string_view name, std::string_view value) {
    std::string field(1, '\0');
    field.push_back(static_cast<char>(name.size()));
    field.append(name);
    field.push_back(static_cast<char>(value.size()));
    return field.append(value);
  };
  std::string block = literal(":method", "POST") + literal(":scheme", "http") +
                      literal(":path", path) + literal(":authority", "x") +
                      literal("content-type", "application/grpc") + literal("te", "trailers");
  std::string frame = {0, 0, static_cast<char>(block.size()), 1, 4, 0,
                       0, 0, static_cast<char>(stream)};
  return frame + block;
}
std::string Data(std::string_view bytes, int flags, uint32_t stream) {
  std::string frame = {0, 0, static_cast<char>(bytes.size()), 0, static_cast<char>(flags), 0,
                       0, 0, static_cast<char>(stream)};
  return frame.append(bytes);
}

TEST_F(GrpcServerTest, BadMessagesAreCountedAndAnswered) {
  Listen();
  const std::string bad[] = {
      std::string("\7\0\0\0\1x", 6),    // flag
      std::string("\0\0\0\0\2x", 6),    // cut short
      std::string("\0\0\0", 3),         // cut short in the head
      std::string("\0\0\0\0\1xyz", 8),  // trailing bytes
      std::string("\1\0\0\0\1x", 6),    // compressed without an encoding
      std::string(),                    // no message at all
  };
  for (const std::string& message : bad) {
    std::string answer =
        Raw(kPreface + kEmptySettings + Head("/t.T/Echo", 1) + Data(message, 1, 1));
    EXPECT_EQ(answer.find("timed out"), std::string::npos);
  }
  EXPECT_EQ(server_.counters().malformed.load(), std::size(bad));
  EXPECT_EQ(server_.counters().requests.load(), 0u);
  Raw(kPreface + kEmptySettings + Head("/t.T/Echo", 1) + Data(std::string("\0\0\0\0\1x", 6), 1, 1));
  EXPECT_EQ(server_.counters().requests.load(), 1u);
}

TEST_F(GrpcServerTest, SlowLorisIsCut) {
  GrpcListenOptions options;
  options.preface_timeout = 200 * kMilli;
  options.request_timeout = 200 * kMilli;
  options.idle_timeout = 400 * kMilli;
  Listen(options);
  for (const std::string& sent : {std::string("PRI *"), kPreface + kEmptySettings,
                                  kPreface + kEmptySettings + Head("/t.T/Echo", 1)}) {
    auto stream = Socket();
    ASSERT_TRUE(stream.ok());
    ASSERT_TRUE(stream->Write(sent).ok());
    char buffer[4096];
    Result<size_t> got = size_t{1};
    while (got.ok() && *got > 0) got = stream->Read(buffer, sizeof buffer);
    EXPECT_TRUE(got.ok()) << got.error().message;
  }
  for (int i = 0; i < 500 && server_.open_connections() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(server_.open_connections(), 0u);
  EXPECT_EQ(server_.counters().timeouts.load(), 2u);
}

TEST_F(GrpcServerTest, StopLetsCallsUnderWayFinish) {
  Listen();
  GrpcClient idle = Client();
  EXPECT_TRUE(idle.Call("/t.T/Echo", "x").ok());
  GrpcClient client = Client();
  int32_t held = *client.Start("/t.T/Slow", "held");
  AwaitWaiting(1);
  auto stopped = std::async(std::launch::async, [&] { return server_.Stop(5 * kSecond); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(GrpcClient::Connect("127.0.0.1", port_).ok());
  Release();
  auto answer = client.Wait(held);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->reply, "held");
  EXPECT_EQ(stopped.get(), 0u);
  EXPECT_FALSE(client.Call("/t.T/Echo", "after").ok());
}

TEST_F(GrpcServerTest, StopCutsWhatExceedsItsPatienceAndLateAnswersAreHarmless) {
  Listen();
  GrpcClient client = Client();
  int32_t held = *client.Start("/t.T/Slow", "held");
  AwaitWaiting(1);
  EXPECT_EQ(server_.Stop(100 * kMilli), 1u);
  EXPECT_FALSE(client.Wait(held).ok());
  io_.Stop();
  Release();
}

}  // namespace
}  // namespace wf::net
