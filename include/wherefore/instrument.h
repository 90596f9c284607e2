// Narrow ways to instrument (Canopy §3.2): each tells one thing, and all are events of one core. They speak about what
// this thread works on (RequestContext) and need no tracer at hand: events go to the tracer that was made last.
//
//   inform("evicting cache entry");                        a moment, with a text
//   auto rows = measure("query", [&] { return Query(); });  a block around a call
//   count("rows", 17);                                      a counter of the current block
//   TracedLock lock(mutex, "cache");                        how long we waited for it, how long we held it
//
// In a request that is not recorded, or not in this detail, each costs a load and a branch.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include "wherefore/annotation.h"
#include "wherefore/api.h"
#include "wherefore/baggage.h"
#include "wherefore/context.h"
#include "wherefore/event.h"
#include "wherefore/thread_state.h"
#include "wherefore/tracer.h"

namespace wherefore {

namespace internal {
// The slow halves; called only while this thread records.
WHEREFORE_API void Inform(std::string_view text);
WHEREFORE_API uint64_t Point(std::string_view name, std::initializer_list<Label> labels);
WHEREFORE_API void Annotate(AnnotationKind kind, std::string_view name, const LabelValue& value,
                            std::string_view unit);
WHEREFORE_API uint64_t EdgeBegin(std::string_view type, std::initializer_list<Label> labels);
WHEREFORE_API void EdgeEnd(uint64_t edge, std::string_view type,
                           std::initializer_list<Label> labels);
WHEREFORE_API void LogEvent(EventType type, uint64_t id1, uint64_t id2,
                            std::initializer_list<Annotation> annotations, Hold hold);
WHEREFORE_API uint64_t LockRequest(std::string_view lock);
WHEREFORE_API void LockStep(EventType step, uint64_t hold);
WHEREFORE_API Tracer* DefaultTracer();  // never null; disabled while there is none
WHEREFORE_API uint64_t NewId();

constexpr uint8_t Level(Detail detail) { return static_cast<uint8_t>(detail); }
}  // namespace internal

// --- Moments and annotations

inline void inform(std::string_view text, Detail detail = Detail::kDefault) {
  if (internal::Recording(internal::Level(detail))) internal::Inform(text);
}

// A moment with a name. Returns its id, to annotate it; 0 when not recorded.
inline uint64_t point(std::string_view name, std::initializer_list<Label> labels = {},
                      Detail detail = Detail::kDefault) {
  return internal::Recording(internal::Level(detail)) ? internal::Point(name, labels) : 0;
}

// Of the current block.
template <typename Value>
inline void label(std::string_view key, const Value& value, Detail detail = Detail::kDefault) {
  if (internal::Recording(internal::Level(detail))) {
    internal::Annotate(AnnotationKind::kLabel, key, LabelValue(value), {});
  }
}
template <typename Value>
inline void count(std::string_view name, const Value& value, std::string_view unit = {},
                  Detail detail = Detail::kDefault) {
  if (internal::Recording(internal::Level(detail))) {
    internal::Annotate(AnnotationKind::kCounter, name, LabelValue(value), unit);
  }
}

// A block around a call; returns what the call returns. In an exception's way, the block fails. Starts no trace.
template <typename Function>
auto measure(std::string_view name, Function&& function) -> decltype(function()) {
  if (!internal::Recording(internal::Level(Detail::kDefault))) return function();
  Block block(*internal::DefaultTracer(), name);
  try {
    return function();
  } catch (...) {
    block.Fail("exception");
    throw;
  }
}

// --- Edges: one block of a request made another go on, in a way that nothing else tells

// Carry the edge to the receiver, with the request's context.
struct Edge {
  uint64_t id = 0;  // 0: not recorded
};
// `type`: request, response, one_way, join, … or a word of yours ("resource").
inline Edge edge_begin(std::string_view type, std::initializer_list<Label> labels = {},
                       Detail detail = Detail::kDefault) {
  return {internal::Recording(internal::Level(detail)) ? internal::EdgeBegin(type, labels) : 0};
}
inline void edge_end(Edge edge, std::string_view type, std::initializer_list<Label> labels = {}) {
  if (edge.id != 0 && internal::thread_state.recording != 0)
    internal::EdgeEnd(edge.id, type, labels);
}

// --- Queues: put by one thread, taken and done by another

// Put it into the queue beside the item.
struct QueueTicket {
  uint64_t item = 0;       // 0: not recorded
  RequestContext context;  // the request that the item is work for
};
WHEREFORE_API QueueTicket enqueue(std::string_view queue, Detail detail = Detail::kDefault);

// Made when an item was taken; this thread works for the item's request until it ends.
class WHEREFORE_API Dequeued {
 public:
  explicit Dequeued(const QueueTicket& ticket, std::string_view queue);
  ~Dequeued() { Complete(); }
  Dequeued(const Dequeued&) = delete;
  Dequeued& operator=(const Dequeued&) = delete;

  void Complete();  // idempotent
  Block& block() { return block_; }

 private:
  Block block_;
  uint64_t item_ = 0;
};

// --- Locks

// Any lock: Requested when made, then Acquired(), then Released() or destroyed.
class LockHold {
 public:
  explicit LockHold(std::string_view lock, Detail detail = Detail::kInternals)
      : hold_(internal::Recording(internal::Level(detail)) ? internal::LockRequest(lock) : 0) {}
  ~LockHold() { Released(); }
  LockHold(const LockHold&) = delete;
  LockHold& operator=(const LockHold&) = delete;

  void Acquired() {
    if (hold_ != 0) internal::LockStep(EventType::kLockAcquire, hold_);
  }
  // Call it before the lock is given up, so that the next acquisition is not earlier than our release.
  void Released() {
    if (hold_ != 0) internal::LockStep(EventType::kLockRelease, std::exchange(hold_, 0));
  }

 private:
  uint64_t hold_;
};

// std::lock_guard that tells.
template <typename Mutex>
class TracedLock {
 public:
  TracedLock(Mutex& mutex, std::string_view name, Detail detail = Detail::kInternals)
      : mutex_(mutex), hold_(name, detail) {
    mutex_.lock();
    hold_.Acquired();
  }
  ~TracedLock() {
    hold_.Released();
    mutex_.unlock();
  }
  TracedLock(const TracedLock&) = delete;
  TracedLock& operator=(const TracedLock&) = delete;

 private:
  Mutex& mutex_;
  LockHold hold_;
};

// --- Continuations and event loops: made here, run later, here or elsewhere

struct Continuation {
  uint64_t task = 0;
  RequestContext context;
};
WHEREFORE_API Continuation create_continuation(std::string_view name,
                                               Detail detail = Detail::kDefault);

// Made where it runs; this thread works for its request until it ends.
class WHEREFORE_API Resumed {
 public:
  Resumed(const Continuation& continuation, std::string_view name);

 private:
  Block block_;
};

// What one posts to an event loop or an executor: runs `function` as a continuation of what is current now.
template <typename Function>
auto continuation(std::string_view name, Function function) {
  return [created = create_continuation(name), name = std::string(name),
          function = std::move(function)](auto&&... arguments) mutable -> decltype(auto) {
    Resumed resumed(created, name);
    return function(std::forward<decltype(arguments)>(arguments)...);
  };
}

// --- Threads

// std::thread that works for the request of the thread that made it. join() tells that its result was waited for, and
// joins its baggage.
class WHEREFORE_API TracedThread {
 public:
  template <typename Function>
  TracedThread(std::string_view name, Function function) {
    std::function<void()> body = [function = std::move(function)]() mutable { function(); };
    Start(name, std::move(body));
  }
  ~TracedThread();  // joins
  TracedThread(TracedThread&&) = default;

  bool joinable() const { return thread_.joinable(); }
  void join();

 private:
  void Start(std::string_view name, std::function<void()> body);

  Edge joined_;
  Branch branch_;
  std::thread thread_;
};

// --- Marked paths

// This request came by here, which policies may target (`reached: NAME`). If one does, and the request is not traced
// yet, its trace starts here and lasts to the end of the scope.
class WHEREFORE_API ReachedPath {
 public:
  explicit ReachedPath(std::string_view path, std::vector<Label> properties = {});
  bool recording() const { return block_ && block_->recording(); }

 private:
  std::optional<Block> block_;
};

// --- The raw event, for what no API above fits (Canopy figure 3)

enum class Delivery : uint8_t { kPrompt, kAtTraceEnd };
inline void log_event(EventType type, uint64_t id1, uint64_t id2 = 0,
                      std::initializer_list<Annotation> annotations = {},
                      Detail detail = Detail::kDefault, Delivery delivery = Delivery::kPrompt) {
  if (internal::Recording(internal::Level(detail))) {
    internal::LogEvent(type, id1, id2, annotations,
                       delivery == Delivery::kAtTraceEnd ? internal::Hold::kUntilEnd
                                                         : internal::thread_state.hold);
  }
}
// A random id for it.
inline uint64_t new_id() { return internal::NewId(); }

// --- Orthogonal sources

// A counter that is read at the bounds of blocks and at an interval, in traces of the finest detail. Taken away when
// destroyed. `read` is called on any thread, and must be quick and thread-safe. At most 16 at a time: one too many is
// not active.
class WHEREFORE_API RegisteredCounter {
 public:
  RegisteredCounter(std::string_view name, std::string_view unit, int64_t (*read)(void*),
                    void* argument = nullptr);
  ~RegisteredCounter();
  RegisteredCounter(const RegisteredCounter&) = delete;
  RegisteredCounter& operator=(const RegisteredCounter&) = delete;
  bool active() const { return slot_ >= 0; }

 private:
  int slot_;
};

// Samples the stacks of threads that record a trace of the finest detail, by SIGPROF. False if the host uses it.
WHEREFORE_API bool start_stack_sampling(
    std::chrono::microseconds interval = std::chrono::milliseconds(10));
WHEREFORE_API void stop_stack_sampling();

}  // namespace wherefore
