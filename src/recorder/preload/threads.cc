#include "recorder/preload/threads.h"

#include <limits.h>
#include <linux/futex.h>
#include <unistd.h>

#include "recorder/preload/process_calls.h"
#include "recorder/preload/raw_calls.h"
#include "recorder/preload/scribe.h"

namespace wf::recorder {
namespace {

pthread_key_t g_end_key;
bool g_have_end_key = false;

Slot* TakeFreeSlot(Region* region) {
  for (uint32_t word = 0; word < kSlots / 64; ++word) {
    uint64_t bits = region->free_slots[word].load(std::memory_order_acquire);
    while (bits != 0) {
      const uint32_t bit = static_cast<uint32_t>(__builtin_ctzll(bits));
      if (!region->free_slots[word].compare_exchange_weak(bits, bits & ~(uint64_t{1} << bit),
                                                          std::memory_order_acq_rel))
        continue;
      const uint32_t number = word * 64 + bit;
      uint32_t used = region->slots_used.load(std::memory_order_relaxed);
      while (used <= number && !region->slots_used.compare_exchange_weak(used, number + 1)) {
      }
      Slot* slot = &region->slots[number];
      slot->ring = RingOf(region, number);
      return slot;
    }
  }
  return nullptr;
}

// A destructor of thread-specific data runs up to PTHREAD_DESTRUCTOR_ITERATIONS times if it sets its value again; in
// the last round nothing of the program's is left but what does the same.
void EndKeyDestructor(void* value) {
  const uintptr_t round = reinterpret_cast<uintptr_t>(value);
  if (round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    ::pthread_setspecific(g_end_key, reinterpret_cast<void*>(round + 1));
    return;
  }
  Slot* slot = t_slot;
  if (slot == nullptr) return;
  if (g_hooks.sub_computation_end != nullptr) g_hooks.sub_computation_end(slot);
  if (g_hooks.thread_end != nullptr) g_hooks.thread_end(slot);
  struct {
    ThreadEnd end;
    Action action;
  } record = {};
  record.end.head = {RecordKind::kThreadEnd, static_cast<uint16_t>(Op::kThreadExit),
                     sizeof(record)};
  record.end.object = slot->object;
  record.end.actions = 1;
  const uint64_t now = Now();
  record.end.end_ns = now < slot->last_start_ns ? slot->last_start_ns : now;
  record.action = {slot->object, Role::kReleaseAll, 0, kEnded};
  t_off = 1;  // a signal handler that comes now is not recorded
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_slot = nullptr;
  Append(slot, &record, sizeof(record));
  slot->state.store(kSlotEnded, std::memory_order_release);
  FreeExecSpace();
}

}  // namespace

Slot* TakeSlot(uint32_t thread, uint32_t parent) {
  Region* region = g_region;
  Slot* slot = TakeFreeSlot(region);
  for (int tries = 0; slot == nullptr && tries < 20; ++tries) {
    // Slots of threads that ended are free again when the scribe has read them.
    const uint32_t seen = region->drained.load(std::memory_order_acquire);
    region->waiters.fetch_add(1, std::memory_order_acq_rel);
    KickScribe(region);
    timespec patience = {0, 10'000'000};
    RawCall(SYS_futex, Arg(&region->drained), FUTEX_WAIT, seen, Arg(&patience));
    region->waiters.fetch_sub(1, std::memory_order_acq_rel);
    slot = TakeFreeSlot(region);
  }
  if (slot == nullptr) {
    region->lost_threads.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  slot->thread = thread;
  slot->parent = parent;
  slot->object = 0;
  slot->tid = 0;
  slot->last_start_ns = 0;
  slot->module_begin = slot->module_end = 0;
  slot->depth_data = 0;
  slot->index = 0;
  slot->room_end = slot->head.load(std::memory_order_relaxed);
  slot->open_record.store(0, std::memory_order_relaxed);
  slot->writing.store(0, std::memory_order_relaxed);
  slot->holding.store(0, std::memory_order_relaxed);
  slot->deferred.size.store(0, std::memory_order_relaxed);
  slot->deferred.flushing.store(0, std::memory_order_relaxed);
  slot->registered.store(0, std::memory_order_relaxed);
  slot->pending.at_head.store(~uint64_t{0}, std::memory_order_relaxed);
  slot->state.store(kSlotUsed, std::memory_order_release);
  return slot;
}

void ReturnSlot(Slot* slot) { slot->state.store(kSlotEnded, std::memory_order_release); }

uint32_t DrawThreadNumber() { return g_region->threads.fetch_add(1, std::memory_order_acq_rel); }

void ReturnThreadNumber(uint32_t number) {
  uint32_t expected = number + 1;
  g_region->threads.compare_exchange_strong(expected, number, std::memory_order_acq_rel);
}

uint32_t DrawObjectId() { return g_region->objects.fetch_add(1, std::memory_order_relaxed) + 1; }

void NameThread(Slot* slot, uint32_t thread, uint32_t id) {
  Object record = {};
  record.head = {RecordKind::kObject, static_cast<uint16_t>(ObjectKind::kThread), sizeof(record)};
  record.id = id;
  record.thread = thread;
  record.time_ns = Now();
  Append(slot, &record, sizeof(record));
}

void BeginThread(Slot* slot) {
  t_slot = slot;
  t_off = 0;
  ForgetOnce();
  slot->tid = static_cast<uint32_t>(RawCall(SYS_gettid));
  if (g_have_end_key) ::pthread_setspecific(g_end_key, reinterpret_cast<void*>(uintptr_t{1}));
  RegisterThread(::pthread_self(), slot->thread, slot->object);
  slot->registered.store(1, std::memory_order_release);
  struct {
    ThreadStart start;
    Action action;
  } record = {};
  const bool created = slot->parent != kNoThread;
  record.start.head = {RecordKind::kThreadStart, static_cast<uint16_t>(created ? 1 : 0),
                       static_cast<uint32_t>(sizeof(ThreadStart) + (created ? sizeof(Action) : 0))};
  record.start.thread = slot->thread;
  record.start.parent = slot->parent;
  record.start.tid = slot->tid;
  record.start.object = slot->object;
  if (created) record.action = {slot->object, Role::kAcquireAll, 0, kBegun};
  record.start.start_ns = Now();
  slot->last_start_ns = record.start.start_ns;
  Append(slot, &record, record.start.head.size);
  if (g_hooks.thread_begin != nullptr) g_hooks.thread_begin(slot);
  if (g_hooks.sub_computation_start != nullptr) g_hooks.sub_computation_start(slot);
}

Slot* AdoptThread() {
  t_off = 1;  // while this runs
  const uint32_t number = DrawThreadNumber();
  Slot* slot = TakeSlot(number, kNoThread);
  if (slot == nullptr) return nullptr;
  slot->object = DrawObjectId();
  BeginThread(slot);
  if (g_hooks.call_entered != nullptr) g_hooks.call_entered(slot);
  NameThread(slot, number, slot->object);
  if (g_hooks.call_entered != nullptr) g_hooks.sub_computation_start(slot);
  return slot;
}

void MakeEndKey() { g_have_end_key = ::pthread_key_create(&g_end_key, EndKeyDestructor) == 0; }

void RegisterThread(pthread_t handle, uint32_t thread, uint32_t object) {
  ObjectEntry* entry = FindEntry(static_cast<uintptr_t>(handle), ObjectKind::kThread);
  if (entry == nullptr) return NoteLostObject();
  entry->thread.store(uint64_t{object} << 32 | thread, std::memory_order_release);
}

void RegisterCreated(pthread_t handle, const Slot* slot, uint32_t thread, uint32_t object) {
  ObjectEntry* entry = FindEntry(static_cast<uintptr_t>(handle), ObjectKind::kThread);
  if (entry == nullptr) return;
  // Only if the thread has not begun. Its slot may serve another one by now, and so may its pthread_t: then the
  // entry has changed since it was read here, because every thread registers before anything else.
  uint64_t before = entry->thread.load(std::memory_order_acquire);
  if (slot->thread != thread || slot->registered.load(std::memory_order_acquire) != 0) return;
  entry->thread.compare_exchange_strong(before, uint64_t{object} << 32 | thread,
                                        std::memory_order_acq_rel);
}

ThreadRef FindThread(pthread_t handle) {
  const ObjectEntry* entry = FindEntry(static_cast<uintptr_t>(handle), ObjectKind::kThread);
  if (entry == nullptr) return {};
  const uint64_t value = entry->thread.load(std::memory_order_acquire);
  if (value == 0) return {};
  return {static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value), true};
}

void NoteThreadName(Slot* slot, uint32_t thread, const char* name) {
  struct {
    ThreadName record;
    char text[256];
  } whole = {};
  const size_t length = ::strnlen(name, sizeof(whole.text) - 8);
  whole.record.head = {RecordKind::kThreadName, static_cast<uint16_t>(length),
                       static_cast<uint32_t>(sizeof(ThreadName) + (length + 7) / 8 * 8)};
  whole.record.thread = thread;
  std::memcpy(whole.text, name, length);
  Append(slot, &whole, whole.record.head.size);
}

}  // namespace wf::recorder
