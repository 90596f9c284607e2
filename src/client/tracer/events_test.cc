// What the narrow APIs emit, as a receiver sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <queue>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/tracer/test_events.h"
#include "wherefore/instrument.h"
#include "wherefore/rpc.h"
#include "wherefore/tracer.h"
#include "wherefore/wherefore.h"

namespace wherefore {
namespace {

using client::EventsReceiver;
using client::ReceivedEvent;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSampled[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class Events : public testing::Test {
 protected:
  TracerOptions Options() {
    TracerOptions options;
    options.endpoint = receiver.url();
    options.service_name = "unit";
    options.drain_interval = milliseconds(5);
    options.flush_interval = milliseconds(5);
    options.control = TracerOptions::Control::kOff;
    return options;
  }
  // What arrived, all of it.
  std::vector<ReceivedEvent> Flushed(Tracer& tracer) {
    EXPECT_TRUE(tracer.Flush(milliseconds(20'000))) << tracer.LastError();
    return receiver.Events();
  }
  static std::vector<std::string> Types(const std::vector<ReceivedEvent>& events) {
    std::vector<std::string> types;
    for (const ReceivedEvent& event : events) types.emplace_back(EventTypeName(event.type));
    return types;
  }
  static ReceivedEvent One(const std::vector<ReceivedEvent>& events, EventType type,
                           const std::string& name = {}) {
    for (const ReceivedEvent& event : events) {
      if (event.type == type && (name.empty() || event.name == name)) return event;
    }
    ADD_FAILURE() << "no " << EventTypeName(type) << " " << name;
    return {};
  }
  static ReceivedEvent Begun(const std::vector<ReceivedEvent>& events, const std::string& name) {
    return One(events, EventType::kBlockBegin, name);
  }

  EventsReceiver receiver;
};

TEST_F(Events, BlocksNestInTheUnitOfTheirThread) {
  Tracer tracer(Options());
  {
    Block outer(tracer, "outer", BlockKind::kServer);
    outer.Label("page", "home");
    Block inner(tracer, "inner");
    inner.Point("miss", {{"key", 7}});
    inner.Counter("bytes", 10, "B");
    inner.Fail("declined");
  }
  const auto events = Flushed(tracer);
  EXPECT_THAT(Types(events),
              ElementsAre("unit_begin", "trace_start", "block_begin", "annotate", "block_begin",
                          "point", "annotate", "block_end", "block_end", "unit_end"));
  const ReceivedEvent outer = Begun(events, "outer"), inner = Begun(events, "inner");
  EXPECT_EQ(outer.id2, events[0].id1);
  EXPECT_EQ(inner.id2, events[0].id1) << "one thread, one unit";
  EXPECT_EQ(outer.kind, 2);
  EXPECT_EQ(events[0].annotations.at("label:thread"), std::to_string(gettid()));
  EXPECT_EQ(events[0].process.at("service.name"), "unit");
  EXPECT_EQ(events[0].process.at("process.pid"), std::to_string(getpid()));
  EXPECT_EQ(events[3].annotations.at("label:page"), "home");
  EXPECT_EQ(events[5].annotations.at("label:key"), "7");
  EXPECT_EQ(events[6].annotations.at("counter:bytes:B"), "10");
  EXPECT_EQ(events[7].id1, inner.id1);
  EXPECT_EQ(events[7].status, 2);
  EXPECT_EQ(events[7].error, "declined");
  for (size_t i = 1; i < events.size(); ++i) {
    EXPECT_EQ(events[i].trace, events[0].trace);
    EXPECT_GT(events[i].sequence, events[i - 1].sequence);
    EXPECT_GE(events[i].time_ns, events[i - 1].time_ns);
  }
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  EXPECT_NEAR(static_cast<double>(events[0].time_ns), static_cast<double>(now.tv_sec) * 1e9, 60e9);
  EXPECT_EQ(tracer.stats().recorded, 10u);
  EXPECT_EQ(tracer.stats().exported, 10u);
  EXPECT_EQ(tracer.stats().traces_started, 1u);
}

TEST_F(Events, DurationsAreThoseOfTheClock) {
  Tracer tracer(Options());
  timespec before{}, after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  {
    Block block(tracer, "sleep");
    std::this_thread::sleep_for(milliseconds(50));
    clock_gettime(CLOCK_MONOTONIC, &after);
  }
  const auto events = Flushed(tracer);
  const auto slept = static_cast<double>(One(events, EventType::kBlockEnd).time_ns -
                                         Begun(events, "sleep").time_ns);
  EXPECT_GE(slept, 50e6 * 0.999);
  EXPECT_LE(slept, 5e9) << "ticks taken for nanoseconds would be far off";
}

TEST_F(Events, UnsampledTravelsAndRecordsNothing) {
  Tracer tracer(Options());
  {
    const ContextScope scope(*RequestContext::FromHeaders(
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "a=b", "user=7"));
    Block block(tracer, "quiet");
    inform("nothing");
    count("n", 1);
    std::mutex mutex;
    const TracedLock lock(mutex, "l");
    RpcCall call(tracer, "call");
    const RpcHeaders headers = call.Send();
    ASSERT_EQ(headers.size(), 3u);
    EXPECT_EQ(headers[0].second, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
    EXPECT_EQ(headers[1].second, "a=b");
    EXPECT_EQ(headers[2].second, "user=7");
    EXPECT_EQ(measure("m", [] { return 7; }), 7);
  }
  EXPECT_TRUE(Flushed(tracer).empty());
  EXPECT_EQ(tracer.stats().recorded, 0u);
}

TEST_F(Events, QueuesLocksTasksEdgesAndThreads) {
  Tracer tracer(Options());
  std::mutex mutex;
  std::thread worker;
  {
    Block request(tracer, "request", BlockKind::kServer);
    inform("evicting");
    EXPECT_EQ(measure("query", [] { return 3; }), 3);
    const QueueTicket ticket = enqueue("jobs");
    worker = std::thread([&tracer, ticket] {
      Dequeued job(ticket, "jobs");
      Block work(tracer, "work");
    });
    worker.join();
    { const TracedLock lock(mutex, "cache"); }
    auto later = continuation("reply", [](int x) { return x + 1; });
    std::thread([later]() mutable { EXPECT_EQ(later(1), 2); }).join();
    const Edge edge = edge_begin("resource", {{"resource", "a.css"}});
    edge_end(edge, "resource");
    TracedThread thread("parallel", [] { inform("inside"); });
    thread.join();
    log_event(EventType::kPoint, new_id(), internal::thread_state.block,
              {{AnnotationKind::kSet, "shards", "1,2"}});
  }
  const auto events = Flushed(tracer);
  const ReceivedEvent request = Begun(events, "request");
  const ReceivedEvent put = One(events, EventType::kQueuePut),
                      take = One(events, EventType::kQueueTake),
                      done = One(events, EventType::kQueueDone);
  EXPECT_EQ(put.id2, request.id1);
  EXPECT_EQ(put.annotations.at("label:queue"), "jobs");
  EXPECT_EQ(take.id1, put.id1);
  EXPECT_EQ(done.id1, put.id1);
  EXPECT_EQ(take.id2, Begun(events, "jobs").id1);
  EXPECT_EQ(Begun(events, "work").id2, Begun(events, "jobs").id2) << "in the taker's unit";
  EXPECT_NE(Begun(events, "jobs").id2, request.id2);
  const ReceivedEvent wanted = One(events, EventType::kLockRequest);
  EXPECT_EQ(One(events, EventType::kLockAcquire).id1, wanted.id1);
  EXPECT_EQ(One(events, EventType::kLockRelease).id1, wanted.id1);
  EXPECT_EQ(wanted.annotations.at("label:lock"), "cache");
  EXPECT_EQ(One(events, EventType::kTaskRun).id1, One(events, EventType::kTaskCreate, "reply").id1);
  EXPECT_EQ(One(events, EventType::kTaskRun).id2, Begun(events, "reply").id1);
  EXPECT_EQ(One(events, EventType::kEdgeEnd).id1, One(events, EventType::kEdgeBegin).id1);
  EXPECT_EQ(One(events, EventType::kEdgeBegin).annotations.at("label:resource"), "a.css");
  EXPECT_EQ(One(events, EventType::kPoint, "inform").annotations.at("message:text"), "evicting");
  std::set<uint64_t> open;
  for (const ReceivedEvent& event : events) {
    EXPECT_EQ(event.trace, request.trace);
    if (event.type == EventType::kUnitBegin || event.type == EventType::kBlockBegin)
      open.insert(event.id1);
    if (event.type == EventType::kUnitEnd || event.type == EventType::kBlockEnd) {
      EXPECT_EQ(open.erase(event.id1), 1u);
    }
  }
  EXPECT_TRUE(open.empty()) << "all that began has ended";
}

TEST_F(Events, DetailDecidesWhatIsRecorded) {
  Tracer tracer(Options());
  for (const char* level : {"wf=d0", "wf=d1", "wf=d2", "wf=d3"}) {
    BlockOptions options;
    options.kind = BlockKind::kServer;
    options.parent = RequestContext::FromHeaders(kSampled, level);
    Block request(tracer, "request", options);
    Block inside(tracer, "inside");
    const LockHold hold("lock");
    point("fine", {}, Detail::kEverything);
    EXPECT_EQ(RequestContext::Current().tracestate(), level) << "it travels on";
  }
  std::map<std::string, int> count;
  for (const ReceivedEvent& event : Flushed(tracer)) {
    ++count[event.name.empty() ? std::string(EventTypeName(event.type)) : event.name];
  }
  EXPECT_EQ(count["request"], 4);
  EXPECT_EQ(count["inside"], 3);
  EXPECT_EQ(count["lock_request"], 2);
  EXPECT_EQ(count["fine"], 1);
}

TEST_F(Events, ACallIsToldByBothSides) {
  Tracer tracer(Options());
  std::string response;
  {
    RpcCall call(tracer, "GET /cart");
    const RpcHeaders headers = call.Send();
    std::thread([&] {  // the other process
      const auto caller = RequestContext::FromHeaders(headers[0].second, headers[1].second);
      ASSERT_TRUE(caller && caller->callee() != 0);
      RpcHandler handler(tracer, "serve cart", *caller);
      EXPECT_EQ(handler.block().id(), caller->callee());
      EXPECT_EQ(RequestContext::Current().callee(), 0u) << "a call has one callee";
      response = handler.Respond();
    })
        .join();
    call.Queued();
    call.Received(response);
  }
  const auto events = Flushed(tracer);
  const uint64_t callee = Begun(events, "serve cart").id1, caller = Begun(events, "GET /cart").id1;
  for (EventType type :
       {EventType::kRpcClientSend, EventType::kRpcServerReceive, EventType::kRpcServerSend,
        EventType::kRpcClientQueue, EventType::kRpcClientReceive}) {
    const bool server = type == EventType::kRpcServerReceive || type == EventType::kRpcServerSend;
    EXPECT_EQ(One(events, type).id1, callee);
    EXPECT_EQ(One(events, type).id2, server ? callee : caller);
  }
  EXPECT_THAT(response, HasSubstr(Begun(events, "serve cart").trace));
}

TEST_F(Events, ACalleeOfSomeoneElseIsNotOurs) {
  // A proxy in between took part: its own id stands in traceparent, our member travelled on.
  const auto context =
      RequestContext::FromHeaders(kSampled, "wf=r00000000000000aa.00000000000000bb");
  ASSERT_TRUE(context);
  EXPECT_EQ(context->callee(), 0u);
  EXPECT_EQ(context->tracestate(), "");
}

TEST_F(Events, OpportunisticEventsWaitForTheDecision) {
  Tracer tracer(Options());
  BlockOptions options;
  options.start = BlockOptions::Start::kOpportunistic;
  const auto request = [&](const std::string& name, const std::string& flag) {
    RpcCall call(tracer, name, options);
    inform("before the decision");
    const RpcHeaders headers = call.Send();
    EXPECT_THAT(headers[0].second, HasSubstr("-00")) << "others do not record it";
    const auto seen = RequestContext::FromHeaders(headers[0].second, headers.at(1).second);
    EXPECT_TRUE(seen->awaits_decision());
    EXPECT_TRUE(tracer.Flush(milliseconds(20'000)));
    if (!flag.empty()) {
      const std::string id = call.block().context().Traceparent();
      call.Received(id.substr(0, 53) + flag);
    }
    Block after(tracer, "after " + name);
  };
  request("kept", "01");
  request("dropped", "00");
  request("unanswered", "");
  const auto events = Flushed(tracer);
  std::set<std::string> traces;
  for (const ReceivedEvent& event : events) traces.insert(event.trace);
  EXPECT_EQ(traces.size(), 1u);
  EXPECT_EQ(Begun(events, "kept").trace, *traces.begin());
  EXPECT_EQ(Begun(events, "after kept").trace, *traces.begin());
  EXPECT_EQ(One(events, EventType::kPoint, "inform").trace, *traces.begin());
  const TracerStats stats = tracer.stats();
  EXPECT_GT(stats.discarded, 0u);
  EXPECT_EQ(stats.recorded, stats.exported + stats.discarded) << "every event is accounted for";
}

TEST_F(Events, AServerDecidesForItsOpportunisticCallerAndNeverSpreadsIt) {
  TracerOptions options = Options();
  options.owner_rate = {};
  Tracer tracer(options);
  ASSERT_TRUE(tracer.SetPolicies(
      R"({"policies":[{"policy":"p","owner":"o","probability":1,"where":{"name":"wanted"}}]})"));
  for (const std::string name : {"wanted", "unwanted"}) {
    const auto caller = RequestContext::FromHeaders(
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "wf=d2;o");
    RpcHandler handler(tracer, name, *caller);
    RpcCall onward(tracer, "onward");
    const RpcHeaders headers = onward.Send();
    const std::string flag = name == "wanted" ? "01" : "00";
    EXPECT_EQ(headers[0].second.substr(53), flag);
    for (const auto& [key, value] : headers) {
      const auto sent = RequestContext::FromHeaders(kSampled, key == "tracestate" ? value : "");
      EXPECT_FALSE(sent->awaits_decision()) << "one hop from a client";
    }
    const std::string response = handler.Respond();
    EXPECT_EQ(response.substr(0, 35), "00-4bf92f3577b34da6a3ce929d0e0e4736");
    EXPECT_EQ(response.substr(53), flag);
  }
  const auto events = Flushed(tracer);
  EXPECT_EQ(Begun(events, "wanted").trace, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(One(events, EventType::kTraceStart).annotations.at("set:owners"), "o");
  for (const ReceivedEvent& event : events) EXPECT_NE(event.name, "unwanted");
}

TEST_F(Events, WhatIsDeliveredAtTheEndWaitsForIt) {
  Tracer tracer(Options());
  BlockOptions options;
  options.delivery = BlockOptions::Delivery::kAtEnd;
  {
    Block whole(tracer, "whole", options);
    inform("inside");
    EXPECT_TRUE(tracer.Flush(milliseconds(20'000)));
    EXPECT_TRUE(receiver.Events().empty());
  }
  EXPECT_EQ(Flushed(tracer).size(), 6u);
}

TEST_F(Events, HeldEventsAreBounded) {
  TracerOptions limited = Options();
  limited.held_bytes = 10'000;
  Tracer tracer(limited);
  BlockOptions options;
  options.delivery = BlockOptions::Delivery::kAtEnd;
  {
    Block whole(tracer, "whole", options);
    for (int i = 0; i < 1000; ++i) inform("inside");
  }
  const size_t arrived = Flushed(tracer).size();
  EXPECT_GT(arrived, 10u);
  EXPECT_LT(arrived, 200u);
  EXPECT_EQ(tracer.stats().dropped + arrived, tracer.stats().recorded);
}

TEST_F(Events, PoliciesStartTracesAndMarkedPathsToo) {
  TracerOptions options = Options();
  options.owner_rate = {};
  Tracer tracer(options);
  ASSERT_TRUE(tracer.SetPolicies(R"({"policies":[
      {"policy":"a","owner":"web","probability":1,"detail":3,"where":{"region":"eu"}},
      {"policy":"b","owner":"db","probability":1,"detail":1,"where":{"region":"eu"}},
      {"policy":"c","owner":"ops","probability":1,"reached":"retry"}]})"));
  const auto request = [&](const std::string& name, const char* region, const char* path) {
    BlockOptions start;
    start.properties = {{"region", region}};
    Block block(tracer, name, start);
    EXPECT_TRUE(block.context().valid()) << "also what is not traced has an identity that travels";
    const ReachedPath reached(path);
    Block inner(tracer, "in " + name);
  };
  request("eu", "eu", "nothing");
  request("us", "us", "nothing");
  request("us retried", "us", "retry");
  const auto events = Flushed(tracer);
  EXPECT_EQ(events[1].annotations.at("set:owners"), "web,db");
  EXPECT_EQ(events[1].annotations.at("label:detail"), "3");
  std::set<std::string> names;
  for (const ReceivedEvent& event : events) {
    if (event.type == EventType::kBlockBegin) names.insert(event.name);
  }
  EXPECT_THAT(names, ElementsAre("eu", "in eu", "in us retried", "retry"));
  EXPECT_FALSE(RequestContext::Current().valid());
}

TEST_F(Events, DetachedBlocksEndAnywhere) {
  Tracer tracer(Options());
  BlockOptions options;
  options.activation = BlockOptions::Activation::kDetached;
  auto block = std::make_unique<Block>(tracer, "later", options);
  EXPECT_FALSE(RequestContext::Current().valid());
  std::thread([&] { block.reset(); }).join();
  const auto events = Flushed(tracer);
  EXPECT_EQ(One(events, EventType::kBlockEnd).id2, Begun(events, "later").id2);
}

TEST_F(Events, FullBuffersDropAndCount) {
  TracerOptions options = Options();
  options.thread_buffer_bytes = 4096;
  options.drain_interval = std::chrono::hours(1);
  Tracer tracer(options);
  {
    Block block(tracer, "b");
    for (int i = 0; i < 10'000; ++i) inform("one of many");
  }
  const TracerStats stats = tracer.stats();
  EXPECT_GT(stats.recorded, 10'000u);
  EXPECT_GT(stats.dropped, 0u);
  EXPECT_EQ(Flushed(tracer).size(), tracer.stats().recorded - tracer.stats().dropped);
}

TEST_F(Events, WhatIsTooLargeIsLeftOutAndCounted) {
  Tracer tracer(Options());
  {
    Block block(tracer, "b");
    block.Label("huge", std::string(100'000, 'x'));
    block.Label("small", 1);
  }
  Flushed(tracer);
  EXPECT_EQ(tracer.stats().truncated, 1u);
}

TEST_F(Events, CountersOsDataAndStacks) {
  TracerOptions options = Options();
  options.os_data = TracerOptions::OsData::kBlocks;
  options.counter_interval = milliseconds(5);
  options.detail = Detail::kEverything;
  Tracer tracer(options);
  std::atomic<int64_t> value{42};
  const RegisteredCounter counter(
      "queue_length", "items",
      [](void* v) { return static_cast<std::atomic<int64_t>*>(v)->load(); }, &value);
  ASSERT_TRUE(counter.active());
  ASSERT_TRUE(start_stack_sampling(milliseconds(2)));
  const auto seen = [&](const std::string& name) {
    for (const ReceivedEvent& event : receiver.Events()) {
      if (event.name == name) return true;
    }
    return false;
  };
  {
    Block block(tracer, "busy");
    volatile uint64_t work = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!(seen("counters") && seen("sample")) && std::chrono::steady_clock::now() < deadline) {
      for (int i = 0; i < 1'000'000; ++i) work = work + static_cast<uint64_t>(i);
    }
  }
  stop_stack_sampling();
  const auto events = Flushed(tracer);
  EXPECT_EQ(Begun(events, "busy").annotations.at("counter:queue_length:items"), "42");
  const ReceivedEvent end = One(events, EventType::kBlockEnd);
  EXPECT_GT(std::stoll(end.annotations.at("counter:cpu_time:ns")), 0);
  EXPECT_EQ(end.annotations.count("counter:preemptions"), 1u);
  const ReceivedEvent sample = One(events, EventType::kPoint, "sample");
  EXPECT_EQ(sample.id2, Begun(events, "busy").id1);
  EXPECT_THAT(sample.annotations.at("stack:cpu"), HasSubstr(";"));
  EXPECT_EQ(One(events, EventType::kPoint, "counters").annotations.at("counter:queue_length:items"),
            "42");
}

TEST_F(Events, TheHostsOwnSignalHandlerStays) {
  struct sigaction mine {
  }, before{};
  mine.sa_handler = [](int) {};
  sigaction(SIGPROF, &mine, &before);
  EXPECT_FALSE(start_stack_sampling());
  sigaction(SIGPROF, &before, nullptr);
}

wherefore_context in_handler;
TEST_F(Events, CurrentContextFromASignalHandler) {
  Tracer tracer(Options());
  Block block(tracer, "b");
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { wherefore_current_context(&in_handler); };
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(in_handler.block, block.id());
  EXPECT_EQ(in_handler.trace_hi, block.context().trace().hi);
  EXPECT_EQ(in_handler.sampled, 1);
  std::thread([] {
    wherefore_context none;
    EXPECT_EQ(wherefore_current_context(&none), 0);
    EXPECT_EQ(none.block, 0u);
  }).join();
}

TEST_F(Events, TheCApi) {
  Tracer tracer(Options());
  wherefore_scope* scope = wherefore_attach(kSampled, nullptr, nullptr);
  ASSERT_NE(scope, nullptr);
  wherefore_block* block = wherefore_block_begin("in C", WHEREFORE_SERVER);
  wherefore_inform("hello");
  wherefore_label("k", "v");
  wherefore_count("n", 3, "items");
  const uint64_t hold = wherefore_lock_request("l");
  wherefore_lock_acquire(hold);
  wherefore_lock_release(hold);
  const uint64_t item = wherefore_enqueue("q");
  wherefore_dequeue(item, "q");
  wherefore_complete(item);
  wherefore_task_run(wherefore_task_create("t"));
  wherefore_edge_end(wherefore_edge_begin("x"), "x");
  const wherefore_annotation annotation = {"counter:bytes:B", "12"};
  EXPECT_EQ(wherefore_log_event("point", wherefore_new_id(), 0, &annotation, 1), 1);
  EXPECT_EQ(wherefore_log_event("no such type", 1, 0, nullptr, 0), 0);
  char header[56];
  EXPECT_EQ(wherefore_traceparent(header, sizeof header), 55u);
  wherefore_block_fail(block, "no");
  wherefore_block_end(block);
  wherefore_detach(scope);
  EXPECT_EQ(wherefore_attach("nonsense", nullptr, nullptr), nullptr);
  const auto events = Flushed(tracer);
  EXPECT_EQ(events.front().trace, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(events.size(), 18u);
  EXPECT_EQ(One(events, EventType::kBlockEnd).status, 2);
}

// Many threads, short and long lived, that hand requests to each other while others flush: nothing is lost uncounted,
// nothing is torn. Also for TSan.
TEST_F(Events, StressManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kRequests = 300;
  TracerOptions options = Options();
  options.thread_buffer_bytes = 64 << 10;
  Tracer tracer(options);
  std::atomic<bool> done{false};
  std::thread flusher([&] {
    while (!done) {
      tracer.Flush(milliseconds(1000));
      tracer.stats();
    }
  });
  std::mutex queue_mutex, shared;
  std::queue<QueueTicket> queue;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRequests; ++i) {
        Block request(tracer, "request", BlockKind::kServer);
        request.Label("thread", t);
        {
          const TracedLock lock(shared, "shared");
          Block inner(tracer, "inner");
          inform("inside");
        }
        QueueTicket taken;
        {
          const std::lock_guard lock(queue_mutex);
          queue.push(enqueue("jobs"));
          taken = queue.front();
          queue.pop();
        }
        if (i % 50 == 0) {
          TracedThread([&] { return "short"; }(), [taken] { const Dequeued job(taken, "jobs"); })
              .join();
        } else {
          const Dequeued job(taken, "jobs");
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  flusher.join();
  const auto events = Flushed(tracer);
  const TracerStats stats = tracer.stats();
  EXPECT_EQ(events.size(), stats.exported);
  EXPECT_EQ(stats.recorded, stats.exported + stats.dropped);
  EXPECT_GE(stats.recorded, static_cast<uint64_t>(kThreads) * kRequests * 17);
  std::map<uint64_t, const ReceivedEvent*> begun;
  for (const ReceivedEvent& event : events) {
    if (event.type == EventType::kBlockBegin) begun[event.id1] = &event;
  }
  for (const ReceivedEvent& event : events) {
    if (event.type != EventType::kBlockEnd || begun.count(event.id1) == 0) continue;
    EXPECT_EQ(event.trace, begun[event.id1]->trace);
    EXPECT_GE(event.time_ns, begun[event.id1]->time_ns);
  }
}

}  // namespace
}  // namespace wherefore
