// A request across suspensions. Coroutines here start on the test's thread, as those of a server do on the one that
// reads the socket, and are resumed by other threads.
#include "wherefore/coroutine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client/tracer/test_events.h"
#include "wherefore/instrument.h"
#include "wherefore/tracer.h"

namespace wherefore {
namespace {

using std::chrono::milliseconds;

RequestContext Request(uint64_t number) {
  return {TraceId{7, number}, BlockId{number}, RequestContext::kSampledFlag};
}

// A coroutine whose end can be waited for.
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

// One thread that runs what it is given, in turn. What its last piece of work left behind is still there for the next.
class Worker {
 public:
  Worker() : thread_([this] { Run(); }) {}
  ~Worker() {
    Post(nullptr);
    thread_.join();
  }
  void Post(std::function<void()> work) {
    // Told under the lock: the work may be the last thing this worker does, and end before we are back.
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    ready_.notify_one();
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  void Run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [this] { return !work_.empty(); });
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> work_;
  std::thread thread_;  // last: it uses the others
};

// co_await OnThread{worker}: goes on there, and gives `value`.
struct OnThread {
  Worker& worker;
  int value = 0;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    worker.Post([handle] { handle.resume(); });
  }
  int await_resume() const { return value; }
};

struct Seen {
  std::thread::id thread;
  RequestContext context;
};
Seen Look() { return {std::this_thread::get_id(), RequestContext::Current()}; }

TEST(Coroutine, TheRequestIsThereWhenAnotherThreadResumes) {
  Worker worker;
  Seen before, after;
  int value = 0;
  const auto coroutine = [&]() -> Task {
    before = Look();
    value = co_await KeepContext(OnThread{worker, 42});
    after = Look();
  };
  Task task;
  {
    const ContextScope scope(Request(1).WithBaggage("user", "u7"));
    task = coroutine();
    EXPECT_EQ(RequestContext::Current().trace(), Request(1).trace()) << "the caller's goes on";
  }
  task.end.get();
  EXPECT_EQ(before.thread, std::this_thread::get_id());
  EXPECT_EQ(after.thread, worker.id());
  EXPECT_EQ(value, 42);
  EXPECT_EQ(after.context.Traceparent(), before.context.Traceparent());
  EXPECT_EQ(after.context.block(), 1u);
  EXPECT_TRUE(after.context.sampled());
  EXPECT_EQ(after.context.BaggageEntry("user"), "u7");
}

TEST(Coroutine, WithoutItTheRequestStaysBehind) {
  Worker worker;
  Seen after;
  const auto coroutine = [&]() -> Task {
    co_await OnThread{worker};
    after = Look();
  };
  Task task;
  {
    const ContextScope scope(Request(1));
    task = coroutine();
  }
  task.end.get();
  EXPECT_EQ(after.thread, worker.id());
  EXPECT_FALSE(after.context.valid());
}

TEST(Coroutine, RequestsThatTakeTurnsOnOneThreadDoNotMix) {
  constexpr int kRequests = 8, kTurns = 20;
  Worker first, second;
  std::atomic<int> wrong{0};
  const auto coroutine = [&](uint64_t number) -> Task {
    for (int turn = 0; turn < kTurns; ++turn) {
      co_await KeepContext(OnThread{turn % 2 == 0 ? first : second});
      const RequestContext now = RequestContext::Current();
      wrong += now.trace() != Request(number).trace() || now.block() != number;
    }
  };
  std::vector<Task> tasks;
  for (uint64_t number = 1; number <= kRequests; ++number) {
    const ContextScope scope(Request(number));
    tasks.push_back(coroutine(number));
  }
  for (Task& task : tasks) task.end.get();
  EXPECT_EQ(wrong, 0);
}

TEST(Coroutine, NoRequestIsCarriedAsNone) {
  Worker worker;
  std::promise<void> polluted;
  worker.Post([&] {  // a request that somebody else left on the thread is not ours
    RequestContext::Exchange(Request(9));
    polluted.set_value();
  });
  polluted.get_future().get();
  Seen after;
  const auto coroutine = [&]() -> Task {
    co_await KeepContext(OnThread{worker});
    after = Look();
  };
  coroutine().end.get();
  EXPECT_EQ(after.thread, worker.id());
  EXPECT_FALSE(after.context.valid());
}

// What is ready, or says that after all it need not wait, leaves the context alone.
struct Ready {
  int& value;
  bool await_ready() const { return true; }
  void await_suspend(std::coroutine_handle<>) { ADD_FAILURE() << "it was ready"; }
  int& await_resume() const { return value; }
};
struct NotAfterAll {
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<>) { return false; }
  void await_resume() const {}
};

TEST(Coroutine, WithoutSuspensionNothingChanges) {
  int value = 1;
  Seen ready, not_after_all;
  const auto coroutine = [&]() -> Task {
    co_await KeepContext(Ready{value}) = 2;  // a reference stays one
    ready = Look();
    co_await KeepContext(NotAfterAll{});
    not_after_all = Look();
  };
  const ContextScope scope(Request(3));
  coroutine().end.get();
  EXPECT_EQ(value, 2);
  EXPECT_EQ(ready.context.block(), 3u);
  EXPECT_EQ(not_after_all.context.block(), 3u);
}

// Symmetric transfer: the inner awaiter names who goes on.
struct HandOver {
  std::coroutine_handle<>& waiting;
  std::coroutine_handle<> next;
  bool await_ready() const { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> handle) {
    waiting = handle;
    return next;
  }
  void await_resume() const {}
};

TEST(Coroutine, ATransferToAnotherCoroutineIsKept) {
  std::coroutine_handle<> waiting;
  Seen after;
  const auto coroutine = [&]() -> Task {
    co_await KeepContext(HandOver{waiting, std::noop_coroutine()});
    after = Look();
  };
  Task task;
  {
    const ContextScope scope(Request(4));
    task = coroutine();
  }
  std::thread([&] { waiting.resume(); }).join();
  task.end.get();
  EXPECT_EQ(after.context.block(), 4u);
}

struct Fails {
  Worker& worker;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    worker.Post([handle] { handle.resume(); });
  }
  void await_resume() const { throw std::runtime_error("reset by peer"); }
};

TEST(Coroutine, TheRequestIsThereForWhoHandlesAFailure) {
  Worker worker;
  Seen caught;
  const auto coroutine = [&]() -> Task {
    try {
      co_await KeepContext(Fails{worker});
    } catch (const std::runtime_error&) {
      caught = Look();
    }
  };
  Task task;
  {
    const ContextScope scope(Request(5));
    task = coroutine();
  }
  task.end.get();
  EXPECT_EQ(caught.thread, worker.id());
  EXPECT_EQ(caught.context.block(), 5u);
}

TEST(Coroutine, BlocksAfterAResumptionAreRecordedInTheRequestsTrace) {
  client::EventsReceiver receiver;
  TracerOptions options;
  options.endpoint = receiver.url();
  options.service_name = "unit";
  options.drain_interval = options.flush_interval = milliseconds(5);
  options.control = TracerOptions::Control::kOff;
  Tracer tracer(options);
  Worker worker;
  const auto coroutine = [&]() -> Task {
    co_await KeepContext(OnThread{worker});
    const Block block(tracer, "after");
  };
  Task task;
  {
    const ContextScope scope(Request(6));
    task = coroutine();
  }
  task.end.get();
  ASSERT_TRUE(tracer.Flush(milliseconds(20'000))) << tracer.LastError();
  std::string trace;
  for (const client::ReceivedEvent& event : receiver.Events()) {
    if (event.type == EventType::kBlockBegin && event.name == "after") trace = event.trace;
  }
  EXPECT_EQ(trace, Request(6).TraceHex());
}

}  // namespace
}  // namespace wherefore
