// Small functions to instrument a program (Canopy §3.2): each records one kind of thing, and all become
// events of one core. They apply to what this thread works on (RequestContext) and need no tracer as
// argument: events go to the tracer that was constructed last.
//
//   inform("evicting cache entry");                        a moment, with a text
//   auto rows = measure("query", [&] { return Query(); });  a block around a call
//   count("rows", 17);                                      a counter of the current block
//   TracedLock lock(mutex, "cache");                        how long we waited for it, how long we held it
//
// If the request is not recorded, or not at this level of detail, each call costs a load and a branch.
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
// The slow parts, called only while this thread records.
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
WHEREFORE_API Tracer* DefaultTracer();  // never null; a disabled tracer if there is none
WHEREFORE_API uint64_t NewId();

constexpr uint8_t Level(Detail detail) { return static_cast<uint8_t>(detail); }
}  // namespace internal

// --- Moments and annotations

inline void inform(std::string_view text, Detail detail = Detail::kDefault) {
  if (internal::Recording(internal::Level(detail))) internal::Inform(text);
}

// An instant with a name. Returns its id, which is used to annotate it; 0 when it is not recorded.
inline uint64_t point(std::string_view name, std::initializer_list<Label> labels = {},
                      Detail detail = Detail::kDefault) {
  return internal::Recording(internal::Level(detail)) ? internal::Point(name, labels) : 0;
}

// Annotate the current block.
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

// A block around a call; returns what the call returns. If the call throws, the block fails. It never starts
// a trace.
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

// --- Edges: one block of a request made another continue, in a way that no other event shows

// Pass the edge to the receiver, together with the request's context.
struct Edge {
  uint64_t id = 0;  // 0: not recorded
};
// `type`: request, response, one_way, join, … or a word of your own ("resource").
inline Edge edge_begin(std::string_view type, std::initializer_list<Label> labels = {},
                       Detail detail = Detail::kDefault) {
  return {internal::Recording(internal::Level(detail)) ? internal::EdgeBegin(type, labels) : 0};
}
inline void edge_end(Edge edge, std::string_view type, std::initializer_list<Label> labels = {}) {
  if (edge.id != 0 && internal::thread_state.recording != 0)
    internal::EdgeEnd(edge.id, type, labels);
}

// --- Queues: one thread puts an item, another takes and completes it

// Store it in the queue beside the item.
struct QueueTicket {
  uint64_t item = 0;       // 0: not recorded
  RequestContext context;  // the request that the item belongs to
};
WHEREFORE_API QueueTicket enqueue(std::string_view queue, Detail detail = Detail::kDefault);

// Construct it when an item was taken; this thread works for the item's request until it is destroyed.
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

// Any lock: construct it when the lock is requested, then call Acquired(), then Released() or destroy it.
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
  // Call it before unlocking, so that the next acquisition is not recorded earlier than our release.
  void Released() {
    if (hold_ != 0) internal::LockStep(EventType::kLockRelease, std::exchange(hold_, 0));
  }

 private:
  uint64_t hold_;
};

// A std::lock_guard that records its wait and hold.
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

// --- Continuations and event loops: created here, run later on this thread or another

struct Continuation {
  uint64_t task = 0;
  RequestContext context;
};
WHEREFORE_API Continuation create_continuation(std::string_view name,
                                               Detail detail = Detail::kDefault);

// Construct it where the continuation runs; this thread works for its request until it is destroyed.
class WHEREFORE_API Resumed {
 public:
  Resumed(const Continuation& continuation, std::string_view name);

 private:
  Block block_;
};

// A callable to post to an event loop or an executor: runs `function` as a continuation of the current block.
template <typename Function>
auto continuation(std::string_view name, Function function) {
  return [created = create_continuation(name), name = std::string(name),
          function = std::move(function)](auto&&... arguments) mutable -> decltype(auto) {
    Resumed resumed(created, name);
    return function(std::forward<decltype(arguments)>(arguments)...);
  };
}

// --- Threads

// A std::thread that works for the request of the thread that made it. join() records that its result was
// waited for, and joins its baggage.
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

// Marks that the request reached this place, which policies may target (`reached: NAME`). If a policy does,
// and the request is not traced yet, its trace starts here and lasts until the scope ends.
class WHEREFORE_API ReachedPath {
 public:
  explicit ReachedPath(std::string_view path, std::vector<Label> properties = {});
  bool recording() const { return block_ && block_->recording(); }

 private:
  std::optional<Block> block_;
};

// --- The raw event, for cases that no function above fits (Canopy figure 3)

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
// A random id for log_event.
inline uint64_t new_id() { return internal::NewId(); }

// --- Further sources of data

// A counter that is read at the bounds of blocks and at an interval, in traces of the finest detail, until it
// is destroyed. `read` is called on any thread, so it must be quick and thread-safe. At most 16 counters are
// active at a time; further ones are not active.
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

// Samples the stacks of threads that record a trace of the finest detail, by SIGPROF. False if the program
// uses SIGPROF itself.
WHEREFORE_API bool start_stack_sampling(
    std::chrono::microseconds interval = std::chrono::milliseconds(10));
WHEREFORE_API void stop_stack_sampling();

}  // namespace wherefore
