// Baggage as programs meet it: contexts, scopes, blocks, threads, queues, calls. What packs here stands for advice.
#include "wherefore/baggage.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/queries/thread_baggage.h"
#include "wherefore/coroutine.h"
#include "wherefore/instrument.h"
#include "wherefore/rpc.h"
#include "wherefore/wherefore.h"

namespace wherefore {
namespace {

using client::BaggageLine;
using client::CurrentBaggage;
using Bag = std::multiset<int64_t>;

constexpr uint64_t kQuery = 42;

wf::advice::Slot OneColumn() {
  wf::advice::Slot slot;
  slot.columns = 1;
  return slot;
}

// What a tracepoint's advice would do here. Without a request nothing happens.
void Pack(int64_t value) {
  wf::advice::Rows rows(1, 0);
  rows.AddColumn(value);
  rows.EndRow(1);
  if (BaggageLine* line = CurrentBaggage()) line->Pack(kQuery, 0, OneColumn(), {}, 0, "", rows);
}
Bag Seen() {
  Bag bag;
  BaggageLine* line = CurrentBaggage();
  if (line == nullptr) return bag;
  const auto tuples = line->Unpack(kQuery, 0, OneColumn());
  for (size_t row = 0; row < tuples.rows().size(); ++row) {
    for (uint64_t i = 0; i < tuples.rows().weight(row); ++i)
      bag.insert(std::get<int64_t>(tuples.rows().columns(row)[0]));
  }
  return bag;
}

RequestContext Request(uint64_t number, uint8_t flags = 0) {
  return {TraceId{9, number}, BlockId{number}, flags};
}

// Tracers of every kind a request may meet; nobody receives.
enum class Traced { kDisabled, kNotSampled, kSampled };
class BaggageIn : public testing::TestWithParam<Traced> {
 protected:
  BaggageIn() {
    TracerOptions options;
    options.endpoint = "http://127.0.0.1:1";
    options.control = TracerOptions::Control::kOff;
    options.first_backoff = options.max_backoff = std::chrono::hours(1);
    options.shutdown_deadline = std::chrono::milliseconds(10);
    if (GetParam() == Traced::kDisabled) setenv("WHEREFORE_DISABLED", "1", 1);
    tracer_.emplace(options);
    unsetenv("WHEREFORE_DISABLED");
  }
  RequestContext Incoming(uint64_t number) const {
    const uint8_t flags = GetParam() == Traced::kSampled ? RequestContext::kSampledFlag : 0;
    return {TraceId{9, number}, BlockId{number}, flags, {}, RequestContext::Origin::kRemote};
  }
  std::optional<Tracer> tracer_;
};
INSTANTIATE_TEST_SUITE_P(Tracers, BaggageIn,
                         testing::Values(Traced::kDisabled, Traced::kNotSampled, Traced::kSampled),
                         [](const auto& info) {
                           return info.param == Traced::kDisabled     ? "Disabled"
                                  : info.param == Traced::kNotSampled ? "NotSampled"
                                                                      : "Sampled";
                         });

TEST(Baggage, WithoutARequestThereIsNone) {
  Pack(1);
  EXPECT_EQ(Seen(), Bag());
  EXPECT_EQ(serialize_baggage(), "");
}

TEST(Baggage, APooledThreadsNextRequestSeesNone) {
  const auto serve = [](uint64_t number) {
    const ContextScope scope(Request(number));
    EXPECT_EQ(Seen(), Bag());
    Pack(static_cast<int64_t>(number));
    EXPECT_EQ(Seen(), Bag({static_cast<int64_t>(number)}));
  };
  for (uint64_t number = 1; number < 5; ++number) serve(number);
  EXPECT_EQ(Seen(), Bag());
  // The same trace again, as a retry: another request all the same.
  serve(4);
}

TEST(Baggage, ScopesOfTheSameRequestKeepWhatIsPackedInside) {
  const ContextScope scope(Request(1));
  Pack(1);
  {
    const ContextScope inside(RequestContext::Current().WithBaggage("user", "u7"));
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(2);
  }
  EXPECT_EQ(Seen(), Bag({1, 2}));
  {
    const ContextScope other(Request(2));
    EXPECT_EQ(Seen(), Bag());
    Pack(3);
  }
  EXPECT_EQ(Seen(), Bag({1, 2}));
}

TEST_P(BaggageIn, BlocksKeepWhatIsPackedInside) {
  {
    BlockOptions options;
    options.kind = BlockKind::kServer;
    options.parent = Incoming(1);
    const Block server(*tracer_, "handle", options);
    Pack(1);
    {
      const Block inner(*tracer_, "inner");
      Pack(2);
      EXPECT_EQ(Seen(), Bag({1, 2}));
    }
    EXPECT_EQ(Seen(), Bag({1, 2}));
    Pack(3);
    EXPECT_EQ(Seen(), Bag({1, 2, 3}));
    EXPECT_EQ(CurrentBaggage()->instances(), 0u) << "blocks do not split";
  }
  EXPECT_EQ(Seen(), Bag());
}

TEST(Baggage, AContextAttachedElsewhereIsABranch) {
  const ContextScope scope(Request(1));
  Pack(1);
  const RequestContext handed = RequestContext::Current();
  Pack(2);
  std::thread([&] {
    const ContextScope attached(handed);
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(3);
  }).join();
  EXPECT_EQ(Seen(), Bag({1, 2})) << "nobody said that it was waited for";
  std::thread([&] {
    const ContextScope attached(handed);
    EXPECT_EQ(Seen(), Bag({1})) << "a second that goes on from there is a third branch";
  }).join();
}

TEST(Baggage, AForkOnTheSameThreadIsABranchToo) {
  const ContextScope scope(Request(1));
  Pack(1);
  const RequestContext task = RequestContext::Fork();
  Pack(2);
  {  // an executor that runs it here and now
    const ContextScope running(task);
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(3);
  }
  EXPECT_EQ(Seen(), Bag({1, 2}));
}

TEST(Baggage, ABranchThatIsJoinedIsSeen) {
  const ContextScope scope(Request(1));
  Pack(1);
  Branch branch;
  std::promise<int> result;
  auto future = result.get_future();
  std::thread pool(branch.Bind([&] {
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(2);
    result.set_value(7);
  }));
  Pack(3);
  EXPECT_EQ(future.get(), 7);
  pool.join();
  EXPECT_EQ(Seen(), Bag({1, 3}));
  branch.Join();
  branch.Join();
  EXPECT_EQ(Seen(), Bag({1, 2, 3}));
  EXPECT_EQ(CurrentBaggage()->instances(), 0u) << "and is folded: it was all ours";
}

TEST(Baggage, ABranchIsNotJoinedToAnotherRequest) {
  std::optional<Branch> branch;
  {
    const ContextScope scope(Request(1));
    branch.emplace();
    branch->Bind([] { Pack(1); })();
  }
  const ContextScope scope(Request(2));
  branch->Join();
  EXPECT_EQ(Seen(), Bag());
}

TEST_P(BaggageIn, ThreadsAreJoined) {
  const ContextScope scope(Incoming(1));
  Pack(1);
  TracedThread thread("work", [] {
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(2);
  });
  Pack(3);
  thread.join();
  EXPECT_EQ(Seen(), Bag({1, 2, 3}));
}

TEST_P(BaggageIn, QueuesAndContinuationsCarryIt) {
  QueueTicket ticket;
  std::function<void()> posted;
  {
    const ContextScope scope(Incoming(1));
    Pack(1);
    ticket = enqueue("q");
    posted = continuation("later", [] { EXPECT_EQ(Seen(), Bag({1})); });
    Pack(2);
  }
  std::thread([&] {
    const Dequeued item(ticket, "q");
    EXPECT_EQ(Seen(), Bag({1}));
  }).join();
  std::thread([&] {
    posted();
    EXPECT_EQ(Seen(), Bag());
  }).join();
}

TEST_P(BaggageIn, CallsCarryItThereAndBack) {
  const ContextScope scope(Incoming(1));
  Pack(1);
  RpcCall call(*tracer_, "call");
  const RpcHeaders request = call.Send();
  RpcHeaders response;
  std::thread([&] {  // another process, for all that it shares
    std::string headers[3];
    for (const auto& [name, value] : request) {
      headers[name == "traceparent" ? 0 : name == "tracestate" ? 1 : 2] = value;
    }
    const auto caller = RequestContext::FromHeaders(headers[0], headers[1], headers[2]);
    ASSERT_TRUE(caller.has_value());
    RpcHandler handler(*tracer_, "handle", *caller);
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(2);
    response = handler.ResponseHeaders();
  })
      .join();
  Pack(3);
  EXPECT_EQ(Seen(), Bag({1, 3}));
  std::string headers[2];
  for (const auto& [name, value] : response) headers[name == "baggage" ? 1 : 0] = value;
  EXPECT_EQ(headers[1].substr(0, 3), "wf=");
  call.Received(headers[0], headers[1]);
  EXPECT_EQ(Seen(), Bag({1, 2, 3}));
}

TEST_P(BaggageIn, AnEmptyBaggageSendsNoMember) {
  const ContextScope scope(Incoming(1));
  RpcCall call(*tracer_, "call");
  for (const auto& [name, value] : call.Send()) EXPECT_NE(name, "baggage") << value;
  RpcHandler handler(*tracer_, "handle", Incoming(2));
  for (const auto& [name, value] : handler.ResponseHeaders()) EXPECT_NE(name, "baggage") << value;
}

std::string BaggageOf(const RpcHeaders& headers) {
  for (const auto& [name, value] : headers) {
    if (name == "baggage") return value;
  }
  return {};
}

TEST_P(BaggageIn, AnEdgeNeitherAcceptsNorSends) {
  std::string header;
  {
    const ContextScope scope(Incoming(1).WithBaggage("user", "u7"));
    Pack(1);
    RpcCall outside(*tracer_, "outside");
    EXPECT_EQ(BaggageOf(outside.Send(Peer::kOutside)), "user=u7");
    outside.Received({}, RequestContext::Current().baggage());
    EXPECT_EQ(Seen(), Bag({1}));
    header = RequestContext::Current().baggage();
    set_baggage_exchange(BaggageExchange::kEdge);
    RpcCall call(*tracer_, "call");
    EXPECT_EQ(BaggageOf(call.Send()), "user=u7");
    EXPECT_EQ(serialize_baggage(), "");
    EXPECT_EQ(Seen(), Bag({1})) << "inside the process it works";
    set_baggage_exchange(BaggageExchange::kOpen);
  }
  const char* const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  const uint64_t refused = baggage_stats().refused;
  {
    RpcHandler handler(*tracer_, "handle", *RequestContext::FromHeaders(traceparent, {}, header),
                       {}, Peer::kOutside);
    EXPECT_EQ(Seen(), Bag());
    Pack(2);
    EXPECT_EQ(BaggageOf(handler.ResponseHeaders()), "");
  }
  set_baggage_exchange(BaggageExchange::kEdge);
  const auto context = RequestContext::FromHeaders(traceparent, {}, header);
  set_baggage_exchange(BaggageExchange::kOpen);
  EXPECT_EQ(context->baggage(), "user=u7");
  EXPECT_EQ(baggage_stats().refused, refused + 2);
}

TEST(BaggageHeader, OursStandLastAndOthersAreKept) {
  std::string header;
  {
    const ContextScope scope(Request(1));
    Pack(1);
    header = RequestContext::Current().baggage();
  }
  const char* const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
  const auto context =
      RequestContext::FromHeaders(traceparent, {}, "a=1," + header + ";x=y , b=2;p=q");
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->baggage(), "a=1,b=2;p=q," + header);
  EXPECT_EQ(context->BaggageEntry("b"), "2");
  EXPECT_EQ(context->BaggageEntry("wf"), std::nullopt);
  EXPECT_EQ(context->WithBaggage("wf", "x").baggage(), context->baggage()) << "it is ours";
  EXPECT_EQ(context->WithBaggage("c", "3").baggage(), "a=1,b=2;p=q,c=3," + header);
}

TEST(BaggageHeader, OthersComeFirstWhenThereIsLittleRoom) {
  const ContextScope scope(Request(1));
  for (int64_t i = 0; i < 250; ++i) Pack(i * 1'000'000'007);
  RequestContext context = RequestContext::Current();
  EXPECT_GT(context.baggage().size(), 2000u);
  context =
      context.WithBaggage("a", std::string(4000, 'a')).WithBaggage("b", std::string(4000, 'b'));
  const std::string header = context.baggage();
  EXPECT_LE(header.size(), 8192u);
  EXPECT_EQ(context.BaggageEntry("b"), std::string(4000, 'b'));
  EXPECT_NE(header.find(",wf="), std::string::npos) << "the mark is there";
  context = context.WithBaggage("c", std::string(180, 'c'));
  EXPECT_LE(context.baggage().size(), 8192u);
  EXPECT_EQ(context.BaggageEntry("c"), std::string(180, 'c'));
}

// A coroutine that another thread resumes.
struct Task {
  struct promise_type {
    std::promise<void> done;
    Task get_return_object() { return {done.get_future()}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() { done.set_value(); }
    void unhandled_exception() { done.set_exception(std::current_exception()); }
  };
  std::future<void> end;
};
struct Elsewhere {
  std::thread& thread;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    std::thread& place = thread;  // the awaiter is gone as soon as somebody resumes
    place = std::thread([handle] { handle.resume(); });
  }
  void await_resume() const {}
};

TEST(Baggage, ACoroutineHasWhatItHadWhenItWasSuspended) {
  std::thread thread;
  const auto coroutine = [&]() -> Task {
    Pack(2);
    co_await KeepContext(Elsewhere{thread});
    EXPECT_EQ(Seen(), Bag({1, 2}));
    Pack(4);
    EXPECT_EQ(Seen(), Bag({1, 2, 4}));
  };
  Task task;
  {
    const ContextScope scope(Request(1));
    Pack(1);
    task = coroutine();
    Pack(3);
    task.end.get();
    EXPECT_EQ(Seen(), Bag({1, 2, 3}));
  }
  thread.join();
}

TEST(Baggage, AsBytesForOtherProtocols) {
  std::string bytes;
  {
    const ContextScope scope(Request(1));
    Pack(1);
    bytes = serialize_baggage();
    EXPECT_NE(bytes, "");
  }
  const ContextScope scope(Request(1));
  Pack(2);
  join_baggage(bytes);
  join_baggage(bytes);
  EXPECT_EQ(Seen(), Bag({1, 2}));
  join_baggage("nonsense");
  join_baggage_header("wf=%%%, =");
  join_baggage_header("wf=nonsense");
  EXPECT_EQ(Seen(), Bag({1, 2}));
}

TEST(Baggage, OfC) {
  char header[8193];
  {
    const ContextScope scope(Request(1));
    EXPECT_EQ(wherefore_baggage(header, sizeof header), 0u);
    Pack(1);
    EXPECT_EQ(wherefore_baggage(header, 10), 0u) << "no room";
    EXPECT_GT(wherefore_baggage(header, sizeof header), 0u);
  }
  wherefore_scope* scope =
      wherefore_attach("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", nullptr, header);
  EXPECT_EQ(Seen(), Bag({1}));
  wherefore_branch* branch = wherefore_branch_begin();
  std::thread([&] {
    wherefore_scope* inside = wherefore_branch_attach(branch);
    EXPECT_EQ(Seen(), Bag({1}));
    Pack(2);
    wherefore_branch_done(branch);
    wherefore_detach(inside);
  }).join();
  wherefore_branch_join(branch);
  EXPECT_EQ(Seen(), Bag({1, 2}));
  wherefore_join_baggage("wf=nonsense");
  wherefore_join_baggage(nullptr);
  EXPECT_EQ(Seen(), Bag({1, 2}));
  wherefore_detach(scope);
  EXPECT_EQ(Seen(), Bag());
}

}  // namespace
}  // namespace wherefore
