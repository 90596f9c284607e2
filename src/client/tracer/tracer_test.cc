#include "wherefore/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "client/runtime/protobuf_writer.h"
#include "client/transport/test_receiver.h"

namespace wherefore {
namespace {

using client::ReceivedSpan;
using client::TestReceiver;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

TracerOptions OptionsFor(const std::string& endpoint) {
  TracerOptions options;
  options.exports = TracerOptions::Export::kOtlp;
  options.endpoint = endpoint;
  options.service_name = "unit";
  options.flush_interval = milliseconds(20);
  options.first_backoff = milliseconds(5);
  return options;
}

// A port on which nobody listens: bound, never listened to, so that nobody else gets it.
class ClosedPort {
 public:
  ClosedPort() {
    fd_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~ClosedPort() { close(fd_); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  int port_;
};

TEST(Tracer, BlocksArriveWithAllTheyCarry) {
  TestReceiver receiver;
  {
    Tracer tracer(OptionsFor(receiver.url()));
    BlockOptions options;
    options.kind = BlockKind::kServer;
    options.parent = RequestContext::FromHeaders(
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=1");
    Block server(tracer, "GET /", options);
    server.Label("text", "wherefore");
    server.Label("int", 42);
    server.Label("negative", int64_t{-7});
    server.Label("real", 2.5);
    server.Label("yes", true);
    server.Point("cache miss", {{"key", "k1"}, {"size", 3}});
    server.Link(
        *RequestContext::FromHeaders("00-0000000000000000000000000000000a-000000000000000b-01"));
    {
      Block child(tracer, "charge card");
      child.Fail("declined");
    }
    server.Succeed();
  }
  const std::vector<ReceivedSpan> spans = receiver.Spans();
  ASSERT_EQ(spans.size(), 2u);
  const ReceivedSpan& child = spans[0];
  const ReceivedSpan& server = spans[1];
  EXPECT_TRUE(child.well_formed && server.well_formed);
  EXPECT_EQ(server.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(server.parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(server.tracestate, "rojo=1");
  EXPECT_EQ(server.flags, 0x301u) << "sampled; the parent is known to be remote";
  EXPECT_EQ(server.kind, 2u);
  EXPECT_EQ(server.outcome, 1u);
  EXPECT_EQ(server.labels.at("text"), "wherefore");
  EXPECT_EQ(server.labels.at("int"), "42");
  EXPECT_EQ(server.labels.at("negative"), "-7");
  EXPECT_EQ(server.labels.at("real"), "2.5");
  EXPECT_EQ(server.labels.at("yes"), "true");
  EXPECT_EQ(server.labels.at("thread.id"), std::to_string(gettid()));
  EXPECT_THAT(server.points, ElementsAre("cache miss"));
  EXPECT_THAT(server.links, ElementsAre("0000000000000000000000000000000a 000000000000000b"));
  EXPECT_EQ(server.process.at("service.name"), "unit");
  EXPECT_EQ(server.process.at("process.pid"), std::to_string(getpid()));
  EXPECT_FALSE(server.process.at("host.name").empty());
  EXPECT_FALSE(server.process.at("service.instance.id").empty());

  EXPECT_EQ(child.trace_id, server.trace_id);
  EXPECT_EQ(child.parent_id, server.span_id);
  EXPECT_EQ(child.flags, 0x101u);
  EXPECT_EQ(child.kind, 1u);
  EXPECT_EQ(child.outcome, 2u);
  EXPECT_EQ(child.error, "declined");
  EXPECT_GE(child.start_ns, server.start_ns);
  EXPECT_LE(child.end_ns, server.end_ns);

  const client::HttpMessage request = receiver.received()[0];
  EXPECT_EQ(request.start_line, "POST /v1/traces HTTP/1.1");
  EXPECT_EQ(request.Header("content-type"), "application/x-protobuf");
}

TEST(Tracer, EachRootStartsATraceAndThreadsDoNotShareOne) {
  TestReceiver receiver;
  Tracer tracer(OptionsFor(receiver.url()));
  Block outer(tracer, "outer");
  std::thread([&] { Block block(tracer, "elsewhere"); }).join();
  RequestContext captured = RequestContext::Current();
  std::thread([&] {
    const ContextScope scope(captured);
    Block block(tracer, "attached");
  }).join();
  const std::string trace = outer.context().TraceHex();
  outer.End();
  outer.End();  // idempotent
  EXPECT_FALSE(RequestContext::Current().valid());
  ASSERT_TRUE(tracer.Flush(milliseconds(5000)));
  std::map<std::string, ReceivedSpan> by_name;
  for (const ReceivedSpan& span : receiver.Spans()) by_name[span.name] = span;
  ASSERT_EQ(by_name.size(), 3u);
  EXPECT_NE(by_name["elsewhere"].trace_id, trace);
  EXPECT_EQ(by_name["elsewhere"].parent_id, "");
  EXPECT_EQ(by_name["attached"].trace_id, trace);
  EXPECT_EQ(tracer.stats().exported, 3u);
}

TEST(Tracer, UnsampledTravelsAndRecordsNothing) {
  TestReceiver receiver;
  Tracer tracer(OptionsFor(receiver.url()));
  const std::string header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  BlockOptions options;
  options.parent = RequestContext::FromHeaders(header);
  {
    Block block(tracer, "quiet", options);
    Block inner(tracer, "inner");
    EXPECT_FALSE(inner.recording());
    EXPECT_EQ(RequestContext::Current().Traceparent(), header);
  }
  EXPECT_TRUE(tracer.Flush(milliseconds(1000)));
  EXPECT_EQ(tracer.stats().recorded, 0u);
  EXPECT_EQ(receiver.requests(), 0);
}

TEST(Tracer, OffSwitch) {
  TestReceiver receiver;
  setenv("WHEREFORE_DISABLED", "1", 1);
  {
    Tracer tracer(OptionsFor(receiver.url()));
    EXPECT_FALSE(tracer.enabled());
    Block root(tracer, "root");
    EXPECT_EQ(root.context().Traceparent(), "");
    const std::string header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    BlockOptions options;
    options.parent = RequestContext::FromHeaders(header);
    Block block(tracer, "incoming", options);
    EXPECT_EQ(block.context().Traceparent(), header) << "the request still travels";
    EXPECT_TRUE(tracer.Flush(milliseconds(10)));
  }
  unsetenv("WHEREFORE_DISABLED");
  EXPECT_EQ(receiver.requests(), 0);
}

TEST(Tracer, FullQueueDropsAndCounts) {
  const ClosedPort nobody;
  TracerOptions options = OptionsFor(nobody.url());
  options.queue_blocks = 100;
  options.batch_blocks = 10;
  options.flush_interval = milliseconds(60'000);
  options.first_backoff = options.max_backoff = milliseconds(60'000);
  options.shutdown_deadline = milliseconds(200);
  Tracer tracer(options);
  for (int i = 0; i < 1000; ++i) Block block(tracer, "b");
  const TracerStats stats = tracer.stats();
  EXPECT_EQ(stats.recorded, 1000u);
  // At most one batch left the queue, and waits out its back-off.
  EXPECT_GE(stats.dropped, 890u);
  EXPECT_LE(stats.dropped, 900u);
  tracer.Shutdown(milliseconds(500));
  const TracerStats after = tracer.stats();
  EXPECT_EQ(after.lost + after.dropped, 1000u) << "every block is accounted for";
  EXPECT_THAT(tracer.LastError(), HasSubstr("127.0.0.1"));
}

TEST(Tracer, QueueIsBoundedInBytesToo) {
  const ClosedPort nobody;
  TracerOptions options = OptionsFor(nobody.url());
  options.queue_bytes = 10'000;
  options.flush_interval = milliseconds(60'000);
  options.shutdown_deadline = milliseconds(200);
  Tracer tracer(options);
  for (int i = 0; i < 100; ++i) {
    Block block(tracer, "b");
    block.Label("big", std::string(1000, 'x'));
  }
  EXPECT_GE(tracer.stats().dropped, 90u);
}

TEST(Tracer, EndpointDownDoesNotBlockTheHost) {
  const ClosedPort nobody;
  TracerOptions options = OptionsFor(nobody.url());
  options.batch_blocks = 16;
  options.queue_blocks = 256;
  options.max_attempts = 1'000'000;
  options.shutdown_deadline = milliseconds(300);
  const auto start = steady_clock::now();
  steady_clock::duration recorded_in;
  {
    Tracer tracer(options);
    for (int i = 0; i < 10'000; ++i) Block block(tracer, "b");
    recorded_in = steady_clock::now() - start;
    EXPECT_FALSE(tracer.Flush(milliseconds(100)));
    EXPECT_GT(tracer.stats().retries, 0u);
  }
  // 10,000 blocks take about 10 ms; one wait for the network each would take minutes.
  EXPECT_LT(recorded_in, std::chrono::seconds(10));
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(15)) << "shutdown has a deadline";
}

TEST(Tracer, ReceiverThatNeverAnswersDoesNotHoldUpShutdown) {
  std::atomic<bool> done{false};
  TestReceiver receiver([&](int) {
    while (!done) std::this_thread::sleep_for(milliseconds(5));
    return std::string();
  });
  TracerOptions options = OptionsFor(receiver.url());
  Tracer tracer(options);
  { Block block(tracer, "b"); }
  while (receiver.requests() == 0) std::this_thread::sleep_for(milliseconds(1));
  const auto start = steady_clock::now();
  tracer.Shutdown(milliseconds(300));
  EXPECT_LT(steady_clock::now() - start, milliseconds(10'000));
  EXPECT_EQ(tracer.stats().lost, 1u);
  done = true;
}

TEST(Tracer, RetryAfterIsHonoured) {
  TestReceiver receiver([](int number) {
    return number == 0 ? TestReceiver::Status("429 Too Many Requests", "Retry-After: 1\r\n")
                       : TestReceiver::Status("200 OK");
  });
  Tracer tracer(OptionsFor(receiver.url()));
  const auto start = steady_clock::now();
  { Block block(tracer, "b"); }
  ASSERT_TRUE(tracer.Flush(milliseconds(10'000)));
  EXPECT_GE(steady_clock::now() - start, milliseconds(1000));
  EXPECT_EQ(receiver.requests(), 2);
  EXPECT_EQ(receiver.received()[0].body, receiver.received()[1].body) << "the same batch again";
  EXPECT_EQ(tracer.stats().exported, 1u);
  EXPECT_EQ(tracer.stats().retries, 1u);
  EXPECT_EQ(tracer.LastError(), "");
}

TEST(Tracer, RetriesAreBounded) {
  TestReceiver receiver([](int) { return TestReceiver::Status("503 Busy"); });
  TracerOptions options = OptionsFor(receiver.url());
  options.max_attempts = 3;
  Tracer tracer(options);
  { Block block(tracer, "b"); }
  ASSERT_TRUE(tracer.Flush(milliseconds(10'000)));
  EXPECT_EQ(receiver.requests(), 3);
  EXPECT_EQ(tracer.stats().lost, 1u);
  EXPECT_THAT(tracer.LastError(), HasSubstr("503"));
}

TEST(Tracer, RefusedForGoodIsNotRetried) {
  TestReceiver receiver([](int) { return TestReceiver::Status("400 Bad Request"); });
  Tracer tracer(OptionsFor(receiver.url()));
  { Block block(tracer, "b"); }
  ASSERT_TRUE(tracer.Flush(milliseconds(5000)));
  EXPECT_EQ(receiver.requests(), 1);
  EXPECT_EQ(tracer.stats().rejected, 1u);
  EXPECT_THAT(tracer.LastError(), HasSubstr("400"));
}

TEST(Tracer, PartialSuccessIsCounted) {
  std::string partial, body;
  client::AppendVarintField(1, 2, partial);
  client::AppendTextField(2, "quota", partial);
  client::AppendBytesField(1, partial, body);
  TestReceiver receiver([&](int) { return TestReceiver::Status("200 OK", "", body); });
  TracerOptions options = OptionsFor(receiver.url());
  options.batch_blocks = 5;
  options.flush_interval = milliseconds(60'000);
  Tracer tracer(options);
  for (int i = 0; i < 5; ++i) Block block(tracer, "b");
  ASSERT_TRUE(tracer.Flush(milliseconds(5000)));
  EXPECT_EQ(tracer.stats().exported, 3u);
  EXPECT_EQ(tracer.stats().rejected, 2u);
  EXPECT_EQ(tracer.LastError(), "quota");
}

TEST(Tracer, ServerThatClosesKeptConnectionsLosesNothing) {
  TestReceiver receiver([](int number) {
    // Every second request is answered by closing the kept connection, as a restarting server does.
    return number % 2 == 1 ? std::string() : TestReceiver::Status("200 OK");
  });
  Tracer tracer(OptionsFor(receiver.url()));
  for (int i = 0; i < 6; ++i) {
    { Block block(tracer, "b" + std::to_string(i)); }
    ASSERT_TRUE(tracer.Flush(milliseconds(5000)));
  }
  EXPECT_EQ(tracer.stats().exported, 6u);
  std::set<std::string> names;
  for (const ReceivedSpan& span : receiver.Spans()) names.insert(span.name);
  EXPECT_EQ(names.size(), 6u);
}

TEST(Tracer, ManyThreadsLoseNothing) {
  TestReceiver receiver;
  TracerOptions options = OptionsFor(receiver.url());
  {
    Tracer tracer(options);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) Block block(tracer, "b");
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::set<std::string> ids;
  for (const ReceivedSpan& span : receiver.Spans()) ids.insert(span.trace_id + span.span_id);
  EXPECT_EQ(ids.size(), 2000u);
}

TEST(Block, WhatIsTooBigIsLeftOutAndCounted) {
  TestReceiver receiver;
  {
    Tracer tracer(OptionsFor(receiver.url()));
    Block block(tracer, "b");
    block.Label("huge", std::string(100'000, 'x'));
    block.Label("small", 1);
  }
  const std::vector<ReceivedSpan> spans = receiver.Spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].left_out_labels, 1u);
  EXPECT_EQ(spans[0].labels.count("huge"), 0u);
  EXPECT_EQ(spans[0].labels.at("small"), "1");
}

TEST(Block, NeverEndsBeforeItsStart) {
  TestReceiver receiver;
  {
    Tracer tracer(OptionsFor(receiver.url()));
    BlockOptions options;
    options.start_ns = 1000;
    Block block(tracer, "b", options);
    block.EndAt(10);
  }
  EXPECT_EQ(receiver.Spans().at(0).start_ns, 1000u);
  EXPECT_EQ(receiver.Spans().at(0).end_ns, 1000u);
}

TEST(Tracer, UnusableEndpointSaysSoAndCounts) {
  Tracer tracer(OptionsFor("https://example.invalid"));
  { Block block(tracer, "b"); }
  EXPECT_EQ(tracer.stats().dropped, 1u);
  EXPECT_THAT(tracer.LastError(), HasSubstr("https://example.invalid"));
}

TEST(Tracer, ForkedChildRecordsNothingAndDoesNotHang) {
  TestReceiver receiver;
  Tracer tracer(OptionsFor(receiver.url()));
  const BlockId parents = Block(tracer, "before").context().block();
  const pid_t child = fork();
  if (child == 0) {
    BlockId mine;
    {
      Block block(tracer, "in the child");
      mine = block.context().block();
    }
    const bool right = tracer.stats().dropped == 1 && mine != parents;
    tracer.Shutdown(milliseconds(100));
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(tracer.Flush(milliseconds(5000)));
  EXPECT_EQ(receiver.Spans().size(), 1u);
}

}  // namespace
}  // namespace wherefore
