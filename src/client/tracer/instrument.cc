#include "wherefore/instrument.h"

#include "client/runtime/block_id.h"
#include "client/runtime/counter_registry.h"
#include "client/tracer/stack_sampler.h"
#include "client/tracer/tracer_core.h"

namespace wherefore {
namespace {

using client::Here;
using client::TracerCore;
using internal::thread_state;

BlockOptions CausedElsewhere(const RequestContext& context) {
  BlockOptions options;
  options.parent = context;
  options.cause = BlockOptions::Cause::kElsewhere;
  return options;
}

// Events may not be sent to a core that did not record the block they lie in; with one tracer there is one.
template <typename Use>
void WithCore(Use use) {
  if (TracerCore* core = TracerCore::Default()) use(*core);
}

constexpr size_t kMostLabels = 16;

// A name or type, and labels, as annotations.
class Labelled {
 public:
  Labelled(const Annotation& first, std::initializer_list<Label> labels) {
    Add(first);
    for (const Label& label : labels) Add({AnnotationKind::kLabel, label.key, label.value});
  }
  const Annotation* data() const { return reinterpret_cast<const Annotation*>(storage_); }
  size_t count() const { return count_; }

 private:
  void Add(const Annotation& annotation) {
    if (count_ <= kMostLabels)
      new (storage_ + sizeof(Annotation) * count_++) Annotation(annotation);
  }
  alignas(Annotation) unsigned char storage_[(kMostLabels + 1) * sizeof(Annotation)];
  size_t count_ = 0;
};

}  // namespace

namespace internal {

void Inform(std::string_view text) {
  const Annotation annotations[] = {{AnnotationKind::kName, {}, "inform"},
                                    {AnnotationKind::kMessage, "text", text}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kPoint, client::NewBlockId(), thread_state.block), annotations);
  });
}

uint64_t Point(std::string_view name, std::initializer_list<Label> labels) {
  const uint64_t id = client::NewBlockId();
  const Labelled annotations({AnnotationKind::kName, {}, name}, labels);
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kPoint, id, thread_state.block), annotations.data(),
              annotations.count());
  });
  return id;
}

void Annotate(AnnotationKind kind, std::string_view name, const LabelValue& value,
              std::string_view unit) {
  const Annotation annotations[] = {{kind, name, value, unit}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kAnnotate, thread_state.block, 0), annotations);
  });
}

uint64_t EdgeBegin(std::string_view type, std::initializer_list<Label> labels) {
  const uint64_t id = client::NewBlockId();
  const Labelled annotations({AnnotationKind::kLabel, "type", type}, labels);
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kEdgeBegin, id, thread_state.block), annotations.data(),
              annotations.count());
  });
  return id;
}

void EdgeEnd(uint64_t edge, std::string_view type, std::initializer_list<Label> labels) {
  const Labelled annotations({AnnotationKind::kLabel, "type", type}, labels);
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kEdgeEnd, edge, thread_state.block), annotations.data(),
              annotations.count());
  });
}

void LogEvent(EventType type, uint64_t id1, uint64_t id2,
              std::initializer_list<Annotation> annotations, Hold hold) {
  WithCore([&](TracerCore& core) {
    client::EventHead head = Here(type, id1, id2);
    if (hold == Hold::kUntilEnd && head.hold == Hold::kNone) head.hold = hold;
    core.Emit(head, annotations.begin(), annotations.size());
  });
}

uint64_t LockRequest(std::string_view lock) {
  const uint64_t hold = client::NewBlockId();
  const Annotation annotations[] = {{AnnotationKind::kLabel, "lock", lock}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kLockRequest, hold, thread_state.block), annotations);
  });
  return hold;
}

void LockStep(EventType step, uint64_t hold) {
  WithCore([&](TracerCore& core) { core.Emit(Here(step, hold, thread_state.block)); });
}

uint64_t NewId() { return client::NewBlockId(); }

Tracer* DefaultTracer() { return client::DefaultTracer(); }

}  // namespace internal

QueueTicket enqueue(std::string_view queue, Detail detail) {
  QueueTicket ticket;
  ticket.context = RequestContext::Fork();
  if (!internal::Recording(internal::Level(detail))) return ticket;
  ticket.item = client::NewBlockId();
  const Annotation annotations[] = {{AnnotationKind::kLabel, "queue", queue}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kQueuePut, ticket.item, thread_state.block), annotations);
  });
  return ticket;
}

Dequeued::Dequeued(const QueueTicket& ticket, std::string_view queue)
    : block_(*internal::DefaultTracer(), queue, CausedElsewhere(ticket.context)) {
  if (ticket.item == 0 || !block_.recording()) return;
  item_ = ticket.item;
  const Annotation annotations[] = {{AnnotationKind::kLabel, "queue", queue}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kQueueTake, item_, block_.id()), annotations);
  });
}

void Dequeued::Complete() {
  if (item_ != 0) {
    WithCore([&](TracerCore& core) { core.Emit(Here(EventType::kQueueDone, item_, block_.id())); });
    item_ = 0;
  }
  block_.End();
}

Continuation create_continuation(std::string_view name, Detail detail) {
  Continuation created;
  created.context = RequestContext::Fork();
  if (!internal::Recording(internal::Level(detail))) return created;
  created.task = client::NewBlockId();
  const Annotation annotations[] = {{AnnotationKind::kName, {}, name}};
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kTaskCreate, created.task, thread_state.block), annotations);
  });
  return created;
}

Resumed::Resumed(const Continuation& continuation, std::string_view name)
    : block_(*internal::DefaultTracer(), name, CausedElsewhere(continuation.context)) {
  if (continuation.task == 0 || !block_.recording()) return;
  WithCore([&](TracerCore& core) {
    core.Emit(Here(EventType::kTaskRun, continuation.task, block_.id()));
  });
}

void TracedThread::Start(std::string_view name, std::function<void()> body) {
  if (internal::Recording(internal::Level(Detail::kDefault))) joined_.id = client::NewBlockId();
  thread_ = std::thread([branch = branch_, name = std::string(name), body = std::move(body),
                         joined = joined_]() mutable {
    BlockOptions options;
    options.parent = branch.context();
    if (!options.parent->valid())
      return body();  // no request: nothing to tell, and no trace to start
    Block block(*internal::DefaultTracer(), name, std::move(options));
    body();
    branch.Done();
    if (joined.id == 0 || !block.recording()) return;
    const Annotation annotations[] = {{AnnotationKind::kLabel, "type", "join"}};
    WithCore([&](TracerCore& core) {
      core.Emit(Here(EventType::kEdgeBegin, joined.id, block.id()), annotations);
    });
  });
}

void TracedThread::join() {
  thread_.join();
  branch_.Join();
  if (joined_.id != 0) edge_end(std::exchange(joined_, Edge()), "join");
}

TracedThread::~TracedThread() {
  if (thread_.joinable()) join();
}

ReachedPath::ReachedPath(std::string_view path, std::vector<Label> properties) {
  if (internal::Recording(internal::Level(Detail::kDefault))) {
    point("reached", {{"path", path}});
    return;
  }
  const RequestContext current = RequestContext::Peek();
  // Only inside a request: without one there is nothing whose trace could start.
  if (!current.valid() || current.sampled()) return;
  BlockOptions options;
  options.properties = std::move(properties);
  options.reached = path;
  block_.emplace(*internal::DefaultTracer(), path, std::move(options));
  if (!block_->recording()) block_.reset();
}

RegisteredCounter::RegisteredCounter(std::string_view name, std::string_view unit,
                                     int64_t (*read)(void*), void* argument)
    : slot_(client::Counters().Add(std::string(name), std::string(unit), read, argument)) {}

RegisteredCounter::~RegisteredCounter() {
  if (slot_ >= 0) client::Counters().Remove(slot_);
}

bool start_stack_sampling(std::chrono::microseconds interval) {
  return client::StartStackSampling(interval);
}
void stop_stack_sampling() { client::StopStackSampling(); }

}  // namespace wherefore
