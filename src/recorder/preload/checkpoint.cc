#include "recorder/preload/checkpoint.h"

#include <cstring>

namespace wf::recorder {

void Checkpoint::Prepare() {
  std::memset(static_cast<void*>(threads_), 0, sizeof(threads_));
  std::memset(static_cast<void*>(objects_), 0, sizeof(objects_));
  std::memset(program_, 0, sizeof(program_));
}

void Checkpoint::Begin(uint32_t number, uint32_t region_slots, ChunkFile& file) {
  number_ = number;
  if (region_slots > region_slots_) region_slots_ = region_slots;
  struct {
    ThreadName record;
    char text[sizeof(program_)];
  } program = {};
  program.record.head = {RecordKind::kThreadName, static_cast<uint16_t>(program_size_),
                         static_cast<uint32_t>(sizeof(ThreadName) + (program_size_ + 7) / 8 * 8)};
  program.record.thread = kNoThread;
  std::memcpy(program.text, program_, program_size_);
  if (program_size_ != 0)
    file.Write(ChunkKind::kProcess, kNoThread, &program, program.record.head.size);
  if (host_size_ != 0) file.Write(ChunkKind::kProcess, kNoThread, host_, host_size_);

  constexpr uint32_t kMost = sizeof(ThreadBase) + sizeof(ThreadState::name);
  alignas(8) uint8_t out[64 * kMost];
  uint32_t used = 0;
  const auto flush = [&] {
    if (used != 0) file.Write(ChunkKind::kCheckpoint, kNoThread, out, used);
    used = 0;
  };
  for (uint32_t i = 0; i < region_slots_; ++i) {
    ThreadState& thread = threads_[i];
    if (thread.lives == 0) continue;
    if (used + kMost > sizeof(out)) flush();
    thread.base.head = {RecordKind::kThreadBase, static_cast<uint16_t>(thread.name_size),
                        static_cast<uint32_t>(sizeof(ThreadBase) + (thread.name_size + 7) / 8 * 8)};
    std::memcpy(out + used, &thread.base, sizeof(ThreadBase));
    std::memset(out + used + sizeof(ThreadBase), 0, sizeof(thread.name));
    std::memcpy(out + used + sizeof(ThreadBase), thread.name, thread.name_size);
    used += thread.base.head.size;
  }
  flush();
  for (uint32_t i = 0; i < region_slots_; ++i) {
    if (threads_[i].lives != 0) Mention(threads_[i].base.object, file);
  }
  WriteBatch(file);
}

void Checkpoint::Observe(uint32_t region_slot, const uint8_t* records, uint32_t size,
                         ChunkFile& file) {
  if (region_slot >= region_slots_) region_slots_ = region_slot + 1;
  ThreadState& thread = threads_[region_slot];
  for (uint32_t at = 0; at + sizeof(RecordHead) <= size;) {
    const uint8_t* const record = records + at;
    RecordHead head;
    std::memcpy(&head, record, sizeof(head));
    at += head.size;
    switch (head.kind) {
      case RecordKind::kThreadStart: {
        ThreadStart start;
        std::memcpy(&start, record, sizeof(start));
        thread = {};
        thread.lives = 1;
        thread.base.thread = start.thread;
        thread.base.parent = start.parent;
        thread.base.start_ns = thread.base.running_since_ns = start.start_ns;
        thread.base.tid = start.tid;
        thread.base.object = start.object;
        Mention(start.object, file);
        MentionActions(record + sizeof(start), head.detail, head.size - sizeof(start), file);
        break;
      }
      case RecordKind::kCut: {
        Cut cut;
        std::memcpy(&cut, record, sizeof(cut));
        ++thread.base.index;
        thread.base.running_since_ns = cut.start_ns;
        Mention(cut.object, file);
        MentionActions(record + sizeof(cut), cut.actions, head.size - sizeof(cut), file);
        break;
      }
      case RecordKind::kThreadEnd: {
        ThreadEnd end;
        std::memcpy(&end, record, sizeof(end));
        thread.lives = 0;
        Mention(end.object, file);
        MentionActions(record + sizeof(end), end.actions, head.size - sizeof(end), file);
        break;
      }
      case RecordKind::kObject: {
        Object object;
        std::memcpy(&object, record, sizeof(object));
        Learn(object);
        break;
      }
      case RecordKind::kThreadName: {
        ThreadName name;
        std::memcpy(&name, record, sizeof(name));
        Name(name, reinterpret_cast<const char*>(record + sizeof(name)));
        break;
      }
      case RecordKind::kHost:
        if (head.size > sizeof(host_)) break;
        std::memcpy(host_, record, head.size);
        host_size_ = head.size;
        break;
      case RecordKind::kTrace: {
        Trace trace;
        std::memcpy(&trace, record, sizeof(trace));
        thread.base.trace_high = trace.trace_high;
        thread.base.trace_low = trace.trace_low;
        thread.base.span = trace.span;
        break;
      }
      default:
        break;
    }
  }
  WriteBatch(file);
}

void Checkpoint::Observe(const Inside& call, const Action* actions, ChunkFile& file) {
  Mention(call.object, file);
  for (uint32_t i = 0; i < call.actions; ++i) Mention(actions[i].object, file);
  WriteBatch(file);
}

void Checkpoint::Name(const ThreadName& record, const char* text) {
  if (record.thread == kNoThread) {
    program_size_ = record.head.detail < sizeof(program_) ? record.head.detail : sizeof(program_);
    std::memcpy(program_, text, program_size_);
    return;
  }
  for (uint32_t i = 0; i < region_slots_; ++i) {
    ThreadState& thread = threads_[i];
    if (thread.lives == 0 || thread.base.thread != record.thread) continue;
    // The kernel's names have up to 15 bytes.
    thread.name_size =
        record.head.detail < sizeof(thread.name) ? record.head.detail : sizeof(thread.name);
    std::memcpy(thread.name, text, thread.name_size);
    return;
  }
}

// Of four places the one that was mentioned longest ago goes: a lock that is used all the time outlives any number of
// threads, which are objects too.
void Checkpoint::Learn(const Object& object) {
  KnownObject* const set = objects_[object.id % kSets];
  KnownObject* oldest = set;
  for (uint32_t i = 1; i < kWays; ++i) {
    if (set[i].mentioned < oldest->mentioned) oldest = &set[i];
  }
  oldest->facts = object;
  oldest->mentioned = number_;
}

void Checkpoint::Mention(uint32_t id, ChunkFile& file) {
  if (id == 0) return;
  KnownObject* const set = objects_[id % kSets];
  for (uint32_t i = 0; i < kWays; ++i) {
    if (set[i].facts.id != id) continue;
    if (set[i].mentioned == number_) return;
    set[i].mentioned = number_;
    if (batched_ == kBatch) WriteBatch(file);
    batch_[batched_++] = set[i].facts;
    return;
  }
}

void Checkpoint::MentionActions(const uint8_t* actions, uint32_t count, uint32_t room,
                                ChunkFile& file) {
  for (uint32_t i = 0; i < count && (i + 1) * sizeof(Action) <= room; ++i) {
    Action action;
    std::memcpy(&action, actions + i * sizeof(Action), sizeof(action));
    Mention(action.object, file);
  }
}

void Checkpoint::WriteBatch(ChunkFile& file) {
  if (batched_ != 0)
    file.Write(ChunkKind::kProcess, kNoThread, batch_,
               static_cast<uint32_t>(batched_ * sizeof(Object)));
  batched_ = 0;
}

}  // namespace wf::recorder
