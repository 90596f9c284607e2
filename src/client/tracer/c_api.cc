// The C face of the library: each function is one call of the C++ one. No exception leaves here.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "client/tracer/tracer_core.h"
#include "wherefore/baggage.h"
#include "wherefore/instrument.h"
#include "wherefore/wherefore.h"

using namespace wherefore;  // NOLINT: this file is the other side of the language border

struct wherefore_scope {
  ContextScope scope;
};
struct wherefore_branch {
  Branch branch;
};
struct wherefore_block {
  Block block;
};

namespace {

std::mutex tracer_mutex;
Tracer* c_tracer = nullptr;

std::string_view Text(const char* text) { return text != nullptr ? text : std::string_view(); }

size_t CopyOut(const std::string& text, char* out, size_t size) {
  if (text.empty() || text.size() + 1 > size) {
    if (size != 0) out[0] = '\0';
    return 0;
  }
  std::memcpy(out, text.c_str(), text.size() + 1);
  return text.size();
}

template <typename Call>
void Guarded(Call call) noexcept {
  try {
    call();
  } catch (...) {  // out of memory: not recorded, and the host goes on
  }
}

void EmitHere(EventType type, uint64_t id, std::initializer_list<Annotation> annotations) {
  if (id == 0 || internal::thread_state.recording == 0) return;
  internal::LogEvent(type, id, internal::thread_state.block, annotations,
                     internal::thread_state.hold);
}

uint64_t EmitNew(EventType type, Detail detail, std::initializer_list<Annotation> annotations) {
  if (!internal::Recording(internal::Level(detail))) return 0;
  const uint64_t id = internal::NewId();
  EmitHere(type, id, annotations);
  return id;
}

Annotation ParseAnnotation(const wherefore_annotation& given) {
  std::string_view key = Text(given.key);
  Annotation annotation{AnnotationKind::kLabel, key, Text(given.value)};
  const auto prefix = [&](std::string_view word, AnnotationKind kind) {
    if (key.substr(0, word.size()) != word) return;
    annotation.kind = kind;
    annotation.name = key.substr(word.size());
    const size_t colon = annotation.name.rfind(':');
    if (kind == AnnotationKind::kCounter && colon != std::string_view::npos) {
      annotation.unit = annotation.name.substr(colon + 1);
      annotation.name = annotation.name.substr(0, colon);
    }
  };
  prefix("label:", AnnotationKind::kLabel);
  prefix("message:", AnnotationKind::kMessage);
  prefix("counter:", AnnotationKind::kCounter);
  prefix("set:", AnnotationKind::kSet);
  prefix("stack:", AnnotationKind::kStack);
  return annotation;
}

}  // namespace

extern "C" {

// Reads words of initial-exec thread-local memory, and nothing else.
int wherefore_current_context(wherefore_context* out) {
  const internal::ThreadState& state = internal::thread_state;
  out->trace_hi = state.trace_hi;
  out->trace_lo = state.trace_lo;
  out->block = state.block;
  out->sampled = state.flags & RequestContext::kSampledFlag;
  out->detail = state.recording != 0 ? static_cast<uint8_t>(state.recording - 1) : 0;
  return (state.trace_hi | state.trace_lo) != 0;
}

void wherefore_start(const char* service, const char* endpoint) {
  Guarded([&] {
    const std::lock_guard lock(tracer_mutex);
    if (c_tracer != nullptr) return;
    TracerOptions options;
    options.service_name = Text(service);
    options.endpoint = Text(endpoint);
    c_tracer = new Tracer(options);
  });
}

int wherefore_flush(unsigned milliseconds) {
  return internal::DefaultTracer()->Flush(std::chrono::milliseconds(milliseconds)) ? 1 : 0;
}

void wherefore_stop(unsigned milliseconds) {
  // Not deleted: another thread may be inside a call.
  Guarded([&] { internal::DefaultTracer()->Shutdown(std::chrono::milliseconds(milliseconds)); });
}

wherefore_scope* wherefore_attach(const char* traceparent, const char* tracestate,
                                  const char* baggage) {
  wherefore_scope* scope = nullptr;
  Guarded([&] {
    auto context = RequestContext::FromHeaders(Text(traceparent), Text(tracestate), Text(baggage));
    if (context) scope = new wherefore_scope{ContextScope(std::move(*context))};
  });
  return scope;
}
void wherefore_detach(wherefore_scope* scope) { delete scope; }

size_t wherefore_traceparent(char* out, size_t size) {
  size_t length = 0;
  Guarded([&] { length = CopyOut(RequestContext::Current().Traceparent(), out, size); });
  return length;
}
size_t wherefore_tracestate(char* out, size_t size) {
  size_t length = 0;
  Guarded([&] { length = CopyOut(RequestContext::Current().tracestate(), out, size); });
  return length;
}

size_t wherefore_baggage(char* out, size_t size) {
  size_t length = 0;
  Guarded([&] { length = CopyOut(RequestContext::Current().baggage(), out, size); });
  return length;
}
void wherefore_join_baggage(const char* header) { join_baggage_header(Text(header)); }

wherefore_branch* wherefore_branch_begin(void) {
  wherefore_branch* branch = nullptr;
  Guarded([&] { branch = new wherefore_branch; });
  return branch;
}
wherefore_scope* wherefore_branch_attach(wherefore_branch* branch) {
  wherefore_scope* scope = nullptr;
  Guarded([&] {
    if (branch != nullptr) scope = new wherefore_scope{ContextScope(branch->branch.context())};
  });
  return scope;
}
void wherefore_branch_done(wherefore_branch* branch) {
  Guarded([&] {
    if (branch != nullptr) branch->branch.Done();
  });
}
void wherefore_branch_join(wherefore_branch* branch) {
  Guarded([&] {
    if (branch != nullptr) branch->branch.Join();
  });
  delete branch;
}

wherefore_block* wherefore_block_begin(const char* name, int kind) {
  const internal::ThreadState& state = internal::thread_state;
  const auto block_kind = kind >= WHEREFORE_INTERNAL && kind <= WHEREFORE_CONSUMER
                              ? static_cast<BlockKind>(kind)
                              : BlockKind::kInternal;
  if (state.settled && state.recording <= static_cast<uint8_t>(DetailOf(block_kind)))
    return nullptr;
  wherefore_block* block = nullptr;
  Guarded([&] {
    block = new wherefore_block{Block(*internal::DefaultTracer(), Text(name), block_kind)};
  });
  return block;
}
void wherefore_block_fail(wherefore_block* block, const char* message) {
  if (block != nullptr) block->block.Fail(Text(message));
}
void wherefore_block_end(wherefore_block* block) { delete block; }

void wherefore_inform(const char* text) { inform(Text(text)); }
void wherefore_point(const char* name) { point(Text(name)); }
void wherefore_label(const char* key, const char* value) { label(Text(key), Text(value)); }
void wherefore_count(const char* name, int64_t value, const char* unit) {
  count(Text(name), value, Text(unit));
}

uint64_t wherefore_edge_begin(const char* type) { return edge_begin(Text(type)).id; }
void wherefore_edge_end(uint64_t edge, const char* type) { edge_end({edge}, Text(type)); }

uint64_t wherefore_enqueue(const char* queue) {
  return EmitNew(EventType::kQueuePut, Detail::kDefault,
                 {{AnnotationKind::kLabel, "queue", Text(queue)}});
}
void wherefore_dequeue(uint64_t item, const char* queue) {
  EmitHere(EventType::kQueueTake, item, {{AnnotationKind::kLabel, "queue", Text(queue)}});
}
void wherefore_complete(uint64_t item) { EmitHere(EventType::kQueueDone, item, {}); }

uint64_t wherefore_lock_request(const char* lock) {
  return internal::Recording(internal::Level(Detail::kInternals))
             ? internal::LockRequest(Text(lock))
             : 0;
}
void wherefore_lock_acquire(uint64_t hold) { EmitHere(EventType::kLockAcquire, hold, {}); }
void wherefore_lock_release(uint64_t hold) { EmitHere(EventType::kLockRelease, hold, {}); }

uint64_t wherefore_task_create(const char* name) {
  return EmitNew(EventType::kTaskCreate, Detail::kDefault,
                 {{AnnotationKind::kName, {}, Text(name)}});
}
void wherefore_task_run(uint64_t task) { EmitHere(EventType::kTaskRun, task, {}); }

int wherefore_log_event(const char* type, uint64_t id1, uint64_t id2,
                        const wherefore_annotation* annotations, size_t count) {
  const EventType known = ParseEventType(Text(type));
  if (known == EventType::kUnknown || known == EventType::kSpan) return 0;
  if (internal::thread_state.recording == 0) return 1;
  Guarded([&] {
    std::vector<Annotation> parsed;
    for (size_t i = 0; i < count; ++i) parsed.push_back(ParseAnnotation(annotations[i]));
    if (auto* core = client::TracerCore::Default()) {
      core->Emit(client::Here(known, id1, id2), parsed.data(), parsed.size());
    }
  });
  return 1;
}
uint64_t wherefore_new_id(void) { return internal::NewId(); }

}  // extern "C"
